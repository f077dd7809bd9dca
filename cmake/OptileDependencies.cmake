# Every third-party package is looked up here, with the Debian package that brings it.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(HWLOC REQUIRED IMPORTED_TARGET hwloc)     # libhwloc-dev
pkg_check_modules(PROMETHEUS REQUIRED IMPORTED_TARGET prometheus-cpp-core)  # prometheus-cpp-dev
pkg_check_modules(NCURSESW REQUIRED IMPORTED_TARGET ncursesw)  # libncurses-dev
pkg_check_modules(CBC REQUIRED IMPORTED_TARGET cbc)           # coinor-libcbc-dev
find_package(SQLite3 REQUIRED)                              # libsqlite3-dev
find_package(Boost 1.74 REQUIRED)                           # libboost-dev
find_package(OpenSSL 3.0 REQUIRED)                          # libssl-dev
find_package(nlohmann_json 3.11 REQUIRED)                   # nlohmann-json3-dev
find_package(CLI11 REQUIRED)                                # libcli11-dev
find_package(spdlog REQUIRED)                               # libspdlog-dev
find_package(Eigen3 3.4 REQUIRED NO_MODULE)                 # libeigen3-dev
find_package(ZLIB REQUIRED)                               # zlib1g-dev
find_library(METIS_LIBRARY metis REQUIRED)                  # libmetis-dev
find_library(SCOTCH_LIBRARY scotch REQUIRED)                # libscotch-dev
find_library(SCOTCHERR_LIBRARY scotcherr REQUIRED)          # libscotch-dev
find_path(SCOTCH_INCLUDE_DIR scotch.h PATH_SUFFIXES scotch REQUIRED)
if(OPTILE_TESTS)
  find_package(GTest REQUIRED)                              # libgtest-dev libgmock-dev
  # One test needs it, which is skipped where it is missing.
  pkg_check_modules(SIMGRID IMPORTED_TARGET simgrid)        # libsimgrid-dev
endif()
