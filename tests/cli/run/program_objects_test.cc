// What a program's objects bring, on a small world of files: LD_LIBRARY_PATH comes first, so that
// nothing here depends on what the machine has installed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "bindings/annotate/optile/annotate.h"
#include "bindings/cli/run/target_program.h"
#include "tests/cli/fixtures/elf_builder.h"
#include "tests/cli/fixtures/files.h"

namespace optile::cli {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class ProgramObjectsTest : public testing::Test {
 protected:
  ProgramObjectsTest() {
    library("libomp.so.5", build_library({}, {}, {"GOMP_parallel", "omp_get_max_threads"}));
    library("libgomp.so.1", build_library({}, {}, {"GOMP_parallel", "GOMP_teams4"}));
    library("libblas.so.3", build_library({}));
  }

  void library(const std::string& name, const std::string& bytes) {
    write_file((folder_ / "lib/") + name, bytes);
  }
  // As Debian's alternatives do it.
  void blas_is(const std::string& provider) {
    const std::string real = write_file((folder_ / provider) + "/libblas.so.3", build_library({}));
    fs::remove(folder_ / "lib/libblas.so.3");
    fs::create_symlink(real, folder_ / "lib/libblas.so.3");
  }
  TargetProgram program(const std::string& name, std::vector<std::string> needed,
                        std::vector<std::string> undefined = {}) {
    TargetProgram target;
    target.path = write_file(
        folder_ / name,
        build_elf({"/lib/ld.so", true, std::move(needed), std::move(undefined), {}}), 0755);
    target.executable = target.path;
    return target;
  }
  ProgramObjects look(const TargetProgram& target, const std::string& torch = "") {
    return look_at_objects(target, LibrarySearch(folder_ / "lib", torch + "/lib"), torch);
  }

  TemporaryDirectory folder_;
};

TEST_F(ProgramObjectsTest, PlainProgramUsesNeitherOpenmpNorPytorch) {
  const ProgramObjects objects = look(program("tool", {"libc.so.6"}));
  EXPECT_FALSE(objects.uses_openmp);
  EXPECT_FALSE(objects.has_pytorch);
  EXPECT_EQ(objects.blas_provider, "none");
  EXPECT_EQ(objects.libomp_path, fs::canonical(folder_ / "lib/libomp.so.5"));
  EXPECT_TRUE(objects.libomp_suitable);
}

TEST_F(ProgramObjectsTest, DetectsAnnotationsInOpenmpExecutable) {
  TargetProgram target = program("tool", {"libgomp.so.1"}, {"GOMP_parallel"});
  EXPECT_FALSE(look(target).marks_ops);
  std::ofstream(target.executable, std::ios::app) << OPTILE_ANNOTATION_SYMBOL;
  EXPECT_TRUE(look(target).marks_ops);
  target = program("without", {"libc.so.6"});
  std::ofstream(target.executable, std::ios::app) << OPTILE_ANNOTATION_SYMBOL;
  EXPECT_FALSE(look(target).marks_ops) << "it has no teams, so nobody searches it";
}

TEST_F(ProgramObjectsTest, FindsOpenmpThroughLibraries) {
  library("libouter.so", build_library({"libinner.so"}));
  library("libinner.so", build_library({"libouter.so", "libgomp.so.1"}, {"GOMP_parallel"}));
  EXPECT_TRUE(look(program("tool", {"libouter.so"})).uses_openmp);
}

TEST_F(ProgramObjectsTest, NamesBlasProviderByLinkTarget) {
  const TargetProgram target = program("tool", {"libblas.so.3"});
  for (const char* provider : {"openblas-pthread", "openblas-openmp", "openblas-serial"}) {
    blas_is(provider);
    EXPECT_EQ(look(target).blas_provider, provider);
  }
  blas_is("blis-openmp");
  EXPECT_EQ(look(target).blas_provider, "blis");
  blas_is("blas");
  EXPECT_EQ(look(target).blas_provider, "reference");
  blas_is("somebodys");
  EXPECT_EQ(look(target).blas_provider, "other");
}

TEST_F(ProgramObjectsTest, MissingEntryPointKeepsLibgomp) {
  library("libfast.so", build_library({"libgomp.so.1"}, {"GOMP_parallel", "GOMP_teams4"}));
  const ProgramObjects objects = look(program("tool", {"libfast.so"}));
  EXPECT_FALSE(objects.libomp_suitable);
  EXPECT_THAT(objects.libomp_obstacle, HasSubstr("libfast.so needs GOMP_teams4"));
}

TEST_F(ProgramObjectsTest, ThreadCancellationKeepsLibgomp) {
  library("libfast.so", build_library({"libgomp.so.1"}, {"GOMP_parallel", "pthread_cancel"}));
  const ProgramObjects objects = look(program("tool", {"libfast.so"}));
  EXPECT_FALSE(objects.libomp_suitable);
  EXPECT_THAT(objects.libomp_obstacle, HasSubstr("libfast.so cancels threads"));
}

TEST_F(ProgramObjectsTest, ChecksOnlyObjectsThatUseLibgomp) {
  // Another library of that name for another purpose.
  library("libown.so", build_library({}, {"GOMP_teams4"}));
  EXPECT_TRUE(look(program("tool", {"libown.so"})).libomp_suitable);
}

TEST_F(ProgramObjectsTest, UnreadableLibompIsUnsuitable) {
  library("libomp.so.5", "garbage");
  const ProgramObjects objects = look(program("tool", {"libgomp.so.1"}, {"GOMP_parallel"}));
  EXPECT_FALSE(objects.libomp_suitable);
  EXPECT_THAT(objects.libomp_obstacle, HasSubstr("libomp.so.5"));
}

TEST_F(ProgramObjectsTest, SkipsDamagedAndMissingLibraries) {
  library("libdamaged.so", "garbage");
  EXPECT_TRUE(
      look(program("tool", {"libdamaged.so", "libmissing.so", "libgomp.so.1"})).uses_openmp);
}

TEST_F(ProgramObjectsTest, FindsPytorchOfDistribution) {
  const TargetProgram target = program("bin/python3.11", {"libc.so.6"});
  blas_is("openblas-pthread");
  ProgramObjects objects = look(target);
  EXPECT_FALSE(objects.has_pytorch);
  EXPECT_EQ(objects.blas_provider, "openblas-pthread") << "what it may open later";

  const std::string torch = folder_ / "lib/python3/dist-packages/torch";
  write_file(torch + "/_C.cpython-311-x86_64-linux-gnu.so", build_library({"libtorch_cpu.so"}));
  library("libtorch_cpu.so", build_library({"libgomp.so.1"}, {"GOMP_parallel"}));
  objects = look(target, torch);
  EXPECT_TRUE(objects.has_pytorch);
  EXPECT_TRUE(objects.uses_openmp);
  EXPECT_TRUE(objects.libomp_suitable);
}

TEST_F(ProgramObjectsTest, WheelPytorchUsesItsOwnLibraries) {
  const std::string torch = folder_ / "env/lib/python3.11/site-packages/torch";
  write_file(torch + "/_C.so", build_library({"libtorch_python.so"}));
  write_file(torch + "/lib/libtorch_python.so", build_library({"libtorch_cpu.so"}));
  write_file(torch + "/lib/libtorch_cpu.so",
             build_library({"libgomp-a34b3233.so.1"}, {"GOMP_parallel", "GOMP_teams4"}));
  // What others have is not what this Python imports.
  library("libtorch_cpu.so.1.13", build_library({"libgomp.so.1"}, {"GOMP_parallel"}));
  const ProgramObjects objects = look(program("env/bin/python3", {"libc.so.6"}), torch);
  EXPECT_EQ(objects.torch_core, "libtorch_cpu.so");
  EXPECT_EQ(objects.openmp_runtimes, std::set<std::string>{"libgomp-a34b3233.so.1"});
  EXPECT_THAT(objects.libomp_obstacle, HasSubstr("libtorch_cpu.so needs GOMP_teams4"));
}

}  // namespace
}  // namespace optile::cli
