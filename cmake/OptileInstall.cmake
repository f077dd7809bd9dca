# What `cmake --install` puts where. The libraries that are loaded into programs lie together in a
# folder that `optile` looks into, beside its own.
set(OPTILE_SHIM_DIR "lib/optile")
install(TARGETS optile optile_tool optile_place optiled
        RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
foreach(library optile_preload optile_torch_bridge optile_admission optile_counters
        optile_itt)
  if(TARGET ${library})
    install(TARGETS ${library} LIBRARY DESTINATION "${OPTILE_SHIM_DIR}")
  endif()
endforeach()
# What annotated programs use, and what exports graphs. Python looks into dist-packages below /usr
# and /usr/local.
set(OPTILE_PYTHON_DIR "" CACHE PATH "Where the Python module goes; empty = where Python looks")
if(OPTILE_PYTHON_DIR STREQUAL "")
  set(OPTILE_PYTHON_DIR "lib/python3/dist-packages")
  if(NOT CMAKE_INSTALL_PREFIX STREQUAL "/usr")
    execute_process(
      COMMAND /usr/bin/python3 -c "import sys; print('%d.%d' % sys.version_info[:2], end='')"
      OUTPUT_VARIABLE python_version)
    set(OPTILE_PYTHON_DIR "lib/python${python_version}/dist-packages")
  endif()
endif()
install(FILES bindings/annotate/optile/annotate.h
        DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/optile")
install(FILES bindings/python/optile/__init__.py bindings/python/optile/fx.py
              bindings/python/optile/step_ops.py
        DESTINATION "${OPTILE_PYTHON_DIR}/optile")
install(FILES bindings/python/optile/distributed/__init__.py
              bindings/python/optile/distributed/assistants.py
              bindings/python/optile/distributed/batches.py
              bindings/python/optile/distributed/changes.py
              bindings/python/optile/distributed/corrections.py
              bindings/python/optile/distributed/data_parallel.py
              bindings/python/optile/distributed/delayed_updates.py
              bindings/python/optile/distributed/job.py
              bindings/python/optile/distributed/kept_layers.py
              bindings/python/optile/distributed/kept_state.py
              bindings/python/optile/distributed/layers.py
              bindings/python/optile/distributed/links.py
              bindings/python/optile/distributed/moves.py
              bindings/python/optile/distributed/pipeline.py
              bindings/python/optile/distributed/place_command.py
              bindings/python/optile/distributed/placed.py
              bindings/python/optile/distributed/placements.py
              bindings/python/optile/distributed/plan_asking.py
              bindings/python/optile/distributed/plan_record.py
              bindings/python/optile/distributed/plan_telling.py
              bindings/python/optile/distributed/rank_cores.py
              bindings/python/optile/distributed/ranks.py
              bindings/python/optile/distributed/replicas.py
              bindings/python/optile/distributed/shared_cores.py
              bindings/python/optile/distributed/shares.py
              bindings/python/optile/distributed/speeds.py
              bindings/python/optile/distributed/stages.py
              bindings/python/optile/distributed/step_units.py
              bindings/python/optile/distributed/traced.py
              bindings/python/optile/distributed/unit_runs.py
        DESTINATION "${OPTILE_PYTHON_DIR}/optile/distributed")
install(FILES bindings/python/optile/distributed/hybrids/__init__.py
              bindings/python/optile/distributed/hybrids/speedups.py
              bindings/python/optile/distributed/hybrids/training.py
        DESTINATION "${OPTILE_PYTHON_DIR}/optile/distributed/hybrids")
install(FILES bindings/python/optile/distributed/splits/__init__.py
              bindings/python/optile/distributed/splits/answers.py
              bindings/python/optile/distributed/splits/layers.py
              bindings/python/optile/distributed/splits/measures.py
              bindings/python/optile/distributed/splits/runs.py
              bindings/python/optile/distributed/splits/splits.py
              bindings/python/optile/distributed/splits/training.py
        DESTINATION "${OPTILE_PYTHON_DIR}/optile/distributed/splits")
install(FILES docs/reference/man/optile.1 docs/reference/man/optile-run.1
        DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")
install(FILES docs/reference/man/optiled.8 DESTINATION "${CMAKE_INSTALL_MANDIR}/man8")

# The units name the daemon by its path, which is that of /usr in the repository.
foreach(unit optiled.service user/optiled.service)
  file(READ "${CMAKE_SOURCE_DIR}/deploy/systemd/${unit}" text)
  string(REPLACE "=/usr/bin/optiled" "=${CMAKE_INSTALL_FULL_BINDIR}/optiled" text "${text}")
  file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/deploy/systemd/${unit}" CONTENT "${text}" @ONLY)
endforeach()
install(FILES "${CMAKE_BINARY_DIR}/deploy/systemd/optiled.service"
        DESTINATION "lib/systemd/system")
install(FILES "${CMAKE_BINARY_DIR}/deploy/systemd/user/optiled.service"
        DESTINATION "lib/systemd/user")
install(FILES deploy/systemd/optile.sysusers.conf
        DESTINATION "lib/sysusers.d" RENAME optile.conf)
