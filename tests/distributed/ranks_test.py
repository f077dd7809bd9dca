"""How a training ends the process group that it began (of optile.distributed, ranks.py)."""
import sys
import unittest
from unittest import mock

try:
    import torch  # noqa: F401
except ImportError:
    sys.exit(77)

from parts import ranks


class EndingProcessGroup(unittest.TestCase):
    def setUp(self):
        patched = mock.patch.object(ranks, "dist")
        self.dist = patched.start()
        self.addCleanup(patched.stop)
        self.dist.is_initialized.return_value = True

    def at_end(self):
        """What is registered when the group begins."""
        with mock.patch.object(ranks.atexit, "register") as register:
            ranks.begin_process_group()
        self.dist.init_process_group.assert_called_once_with("gloo")
        (end,), _ = register.call_args
        return end

    def test_orderly_end_ends_the_group(self):
        self.at_end()()
        self.dist.destroy_process_group.assert_called_once_with()

    def test_behind_an_exception_nobody_waits_for_other_ranks(self):
        end = self.at_end()
        with mock.patch.object(sys, "last_type", ValueError, create=True):
            end()
        self.dist.destroy_process_group.assert_not_called()

    def test_group_that_the_program_has_ended_is_left_alone(self):
        end = self.at_end()
        self.dist.is_initialized.return_value = False
        end()
        self.dist.destroy_process_group.assert_not_called()


if __name__ == "__main__":
    unittest.main()
