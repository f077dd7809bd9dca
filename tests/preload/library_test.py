#!/usr/bin/python3
"""What the shim's file brings into every process: little, and nothing that nobody asked for."""

import pathlib
import re
import subprocess
import sys
import unittest

SHIM = ""
OLDEST_GLIBC = (2, 17)
DOCUMENT = pathlib.Path(__file__).resolve().parents[2] / "docs" / "guide" / "building.md"

EXPORTED = {
    "TFE_Execute",
    "TF_SessionRun",
    "_ZN10tensorflow10DeviceBase16eigen_cpu_deviceEv",
    "_ZN10tensorflow16ThreadPoolDevice7ComputeEPNS_8OpKernelEPNS_15OpKernelContextE",
    "_ZNK10tensorflow10DeviceBase29tensorflow_cpu_worker_threadsEv",
    "GOMP_parallel",
    "GOMP_parallel_loop_dynamic",
    "GOMP_parallel_loop_dynamic_start",
    "GOMP_parallel_loop_guided",
    "GOMP_parallel_loop_guided_start",
    "GOMP_parallel_loop_maybe_nonmonotonic_runtime",
    "GOMP_parallel_loop_nonmonotonic_dynamic",
    "GOMP_parallel_loop_nonmonotonic_guided",
    "GOMP_parallel_loop_nonmonotonic_runtime",
    "GOMP_parallel_loop_runtime",
    "GOMP_parallel_loop_runtime_start",
    "GOMP_parallel_loop_static",
    "GOMP_parallel_loop_static_start",
    "GOMP_parallel_reductions",
    "GOMP_parallel_sections",
    "GOMP_parallel_sections_start",
    "GOMP_parallel_start",
    "_ZN2at15set_num_threadsEi",
    "_ZN3tbb6detail2r116execute_and_wait"
    "ERNS0_2d14taskERNS2_18task_group_contextERNS2_12wait_contextES6_",
    "_ZN3tbb6detail2r117parallel_pipelineERNS0_2d118task_group_contextEmRKNS2_11filter_nodeE",
    "_ZN3tbb6detail2r127global_control_active_valueEi",
    "_ZN3tbb6detail2r14waitERNS0_2d112wait_contextERNS2_18task_group_contextE",
    "_ZN3tbb6detail2r15spawnERNS0_2d14taskERNS2_18task_group_contextE",
    "_ZN3tbb6detail2r15spawnERNS0_2d14taskERNS2_18task_group_contextEt",
    "_ZN3tbb6detail2r16submitERNS0_2d14taskERNS2_18task_group_contextEPNS1_5arenaEm",
    "_ZN3tbb6detail2r17destroyERNS0_2d118task_group_contextE",
    "_ZN3tbb6detail2r17enqueueERNS0_2d14taskEPNS2_15task_arena_baseE",
    "_ZN3tbb6detail2r17enqueue"
    "ERNS0_2d14taskERNS2_18task_group_contextEPNS2_15task_arena_baseE",
    "__kmpc_fork_call",
    "__kmpc_fork_call_if",
    "__kmpc_fork_teams",
    "__kmpc_push_num_threads",
    "__kmpc_serialized_parallel",
    "cblas_cgemm",
    "cblas_cgemm64_",
    "cblas_dgemm",
    "cblas_dgemm64_",
    "cblas_sgemm",
    "cblas_sgemm64_",
    "cblas_zgemm",
    "cblas_zgemm64_",
    "cgemm_",
    "cgemm_64_",
    "dgemm_",
    "dgemm_64_",
    "dlclose",
    "dnnl_augru_backward_primitive_desc_create",
    "dnnl_augru_forward_primitive_desc_create",
    "dnnl_batch_normalization_backward_primitive_desc_create",
    "dnnl_batch_normalization_forward_primitive_desc_create",
    "dnnl_binary_primitive_desc_create",
    "dnnl_convolution_backward_data_primitive_desc_create",
    "dnnl_convolution_backward_weights_primitive_desc_create",
    "dnnl_convolution_forward_primitive_desc_create",
    "dnnl_deconvolution_backward_data_primitive_desc_create",
    "dnnl_deconvolution_backward_weights_primitive_desc_create",
    "dnnl_deconvolution_forward_primitive_desc_create",
    "dnnl_eltwise_backward_primitive_desc_create",
    "dnnl_eltwise_forward_primitive_desc_create",
    "dnnl_group_normalization_backward_primitive_desc_create",
    "dnnl_group_normalization_forward_primitive_desc_create",
    "dnnl_gru_backward_primitive_desc_create",
    "dnnl_gru_forward_primitive_desc_create",
    "dnnl_inner_product_backward_data_primitive_desc_create",
    "dnnl_inner_product_backward_weights_primitive_desc_create",
    "dnnl_inner_product_forward_primitive_desc_create",
    "dnnl_layer_normalization_backward_primitive_desc_create",
    "dnnl_layer_normalization_backward_primitive_desc_create_v2",
    "dnnl_layer_normalization_forward_primitive_desc_create",
    "dnnl_layer_normalization_forward_primitive_desc_create_v2",
    "dnnl_lbr_augru_backward_primitive_desc_create",
    "dnnl_lbr_augru_forward_primitive_desc_create",
    "dnnl_lbr_gru_backward_primitive_desc_create",
    "dnnl_lbr_gru_forward_primitive_desc_create",
    "dnnl_lrn_backward_primitive_desc_create",
    "dnnl_lrn_forward_primitive_desc_create",
    "dnnl_lstm_backward_primitive_desc_create",
    "dnnl_lstm_forward_primitive_desc_create",
    "dnnl_matmul_primitive_desc_create",
    "dnnl_pooling_backward_primitive_desc_create",
    "dnnl_pooling_forward_primitive_desc_create",
    "dnnl_prelu_backward_primitive_desc_create",
    "dnnl_prelu_forward_primitive_desc_create",
    "dnnl_primitive_create",
    "dnnl_primitive_desc_create",
    "dnnl_primitive_desc_iterator_create",
    "dnnl_primitive_execute",
    "dnnl_reduction_primitive_desc_create",
    "dnnl_resampling_backward_primitive_desc_create",
    "dnnl_resampling_forward_primitive_desc_create",
    "dnnl_shuffle_backward_primitive_desc_create",
    "dnnl_shuffle_forward_primitive_desc_create",
    "dnnl_softmax_backward_primitive_desc_create",
    "dnnl_softmax_forward_primitive_desc_create",
    "dnnl_vanilla_rnn_backward_primitive_desc_create",
    "dnnl_vanilla_rnn_forward_primitive_desc_create",
    "execl",
    "execle",
    "execlp",
    "execv",
    "execve",
    "execveat",
    "execvp",
    "execvpe",
    "fexecve",
    "getenv",
    "optile_annotation_api_1",
    "optile_itt_listen_1",
    "popen",
    "posix_spawn",
    "posix_spawnp",
    "pthread_create",
    "pthread_setaffinity_np",
    "sched_getaffinity",
    "sched_setaffinity",
    "scipy_cblas_cgemm",
    "scipy_cblas_cgemm64_",
    "scipy_cblas_dgemm",
    "scipy_cblas_dgemm64_",
    "scipy_cblas_sgemm",
    "scipy_cblas_sgemm64_",
    "scipy_cblas_zgemm",
    "scipy_cblas_zgemm64_",
    "scipy_cgemm_",
    "scipy_cgemm_64_",
    "scipy_dgemm_",
    "scipy_dgemm_64_",
    "scipy_sgemm_",
    "scipy_sgemm_64_",
    "scipy_zgemm_",
    "scipy_zgemm_64_",
    "sgemm_",
    "sgemm_64_",
    "system",
    "zgemm_",
    "zgemm_64_",
}


def output_of(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


class ShimLibrary(unittest.TestCase):
    def test_exports_only_interposed_symbols(self) -> None:
        lines = output_of("nm", "-D", "--defined-only", SHIM).splitlines()
        self.assertEqual({line.split()[-1].split("@")[0] for line in lines}, EXPORTED)

    def test_needs_only_c_library(self) -> None:
        needed = re.findall(r"NEEDED.*\[(.*)\]", output_of("readelf", "-dW", SHIM))
        own = ("libc.so", "libdl.so", "libpthread.so", "ld-linux")
        self.assertTrue(all(name.startswith(own) for name in needed), needed)
        # Where an older C library has what a newer one has in libc.so itself.
        for name in ("libdl.so.2", "libpthread.so.0"):
            self.assertIn(name, needed)

    def test_runs_on_old_c_library(self) -> None:
        wanted = re.findall(
            r"\sUND\s+(\S+)@GLIBC_([\d.]+)", output_of("readelf", "--dyn-syms", "-W", SHIM)
        )
        self.assertGreater(len(wanted), 20)
        newer = {
            name: version
            for name, version in wanted
            if tuple(map(int, version.split("."))) > OLDEST_GLIBC
        }
        self.assertEqual(newer, {})
        self.assertFalse({"stat", "fstat", "lstat", "fstatat"} & {name for name, _ in wanted})
        text = ".".join(map(str, OLDEST_GLIBC))
        with open(DOCUMENT, encoding="utf-8") as document:
            self.assertIn(f"glibc {text}", document.read())

    def test_has_small_thread_local_storage(self) -> None:
        for line in output_of("readelf", "-lW", SHIM).splitlines():
            if line.split()[:1] == ["TLS"]:
                self.assertLessEqual(int(line.split()[5], 16), 64)
                return
        self.fail("no TLS segment found: has the shim become something else?")

    def test_has_no_executable_stack_or_text_relocations(self) -> None:
        self.assertNotIn("TEXTREL", output_of("readelf", "-dW", SHIM))
        stack = [line for line in output_of("readelf", "-lW", SHIM).splitlines() if "STACK" in line]
        self.assertTrue(stack and "E" not in stack[0].split()[6])


if __name__ == "__main__":
    SHIM = sys.argv.pop(1)
    unittest.main(verbosity=2)
