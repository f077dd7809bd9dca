#include "bindings/cli/run/unseen_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/fixtures/files.h"
#include "tests/cli/fixtures/golden.h"

namespace optile::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(UnseenProgram, TextMatchesGoldenFile) {
  Golden golden("unseen");
  golden.add("no op was seen", unseen_program_text({}));
  golden.add("imports a framework", unseen_program_text({"", true, "JAX"}));
  golden.add("without the shim", unseen_program_text({"it is linked statically", true, ""}));
  golden.add("without an answer", unseen_program_text({"", false, ""}));
  golden.add("a whole program", whole_program_text("serve.py"));
  golden.check();
}

TEST(UnseenProgram, TextListsSupportedRuntimes) {
  const std::string text = unseen_program_text({});
  for (const char* word : {"PyTorch", "libgomp", "libomp", "BLAS", "oneDNN", "oneTBB",
                           "annotations", "no lease", "statically"}) {
    EXPECT_THAT(text, HasSubstr(word));
  }
}

TEST(UnseenProgram, TextNamesImportedFramework) {
  const std::string text = unseen_program_text({"", true, "JAX"});
  EXPECT_THAT(text, HasSubstr("JAX"));
  EXPECT_THAT(text, Not(HasSubstr("TensorFlow")));
}

TEST(UnseenProgram, TextGivesReasonWithoutShim) {
  const std::string reason = "it is linked statically";
  const std::string text = unseen_program_text({reason, true, ""});
  EXPECT_THAT(text, HasSubstr(reason));
  EXPECT_EQ(field(text, "looked for"), "");
}

TEST(UnseenProgram, TextReportsUnreachableDaemon) {
  const std::string text = unseen_program_text({"", false, ""});
  EXPECT_THAT(text, HasSubstr("daemon"));
  EXPECT_EQ(field(text, "looked for"), "");
}

std::string framework_of(const std::string& text) {
  return unseen_framework({"/usr/bin/python3", "-u", "-c", text});
}

TEST(UnseenProgram, FindsImportedFramework) {
  for (const char* text : {"import tensorflow as tf\n", "import os; import tensorflow.keras\n",
                           "if True:\n  from tensorflow import data\n"}) {
    EXPECT_EQ(framework_of(text), "TensorFlow") << text;
  }
  for (const char* text :
       {"import os, jax, numpy\n", "import jax.numpy as jnp", "from flax import linen\n"}) {
    EXPECT_EQ(framework_of(text), "JAX") << text;
  }
}

TEST(UnseenProgram, IgnoresCommentsStringsAndOtherModules) {
  for (const char* text :
       {"import torch\n# import tensorflow\nprint('import jax')\n", "from numpy import jax\n",
        "import numpy as jax\n", "import tensorflow_datasets\n"}) {
    EXPECT_EQ(framework_of(text), "") << text;
  }
}

TEST(UnseenProgram, FindsFrameworkOfScript) {
  TemporaryDirectory folder;
  const std::string script =
      write_file(folder / "train.py", "#!/usr/bin/env python3\nimport jax\n");
  EXPECT_EQ(unseen_framework({"python3", "-u", script, "--steps", "3"}), "JAX");
  EXPECT_EQ(unseen_framework({script}), "JAX");
  EXPECT_EQ(unseen_framework({"python3", "-m", "jax"}), "");
  EXPECT_EQ(unseen_framework({"python3", folder / "none.py"}), "");
  EXPECT_EQ(unseen_framework({"/bin/true"}), "");
  EXPECT_EQ(unseen_framework({}), "");
}

}  // namespace
}  // namespace optile::cli
