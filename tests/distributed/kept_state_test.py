"""What a training keeps to go on from (bindings/python/optile/distributed/kept_state.py)."""
import contextlib
import io
import os
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

try:
    import torch
except ImportError:
    sys.exit(77)

from parts import kept_state


class Keeping(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        patched = mock.patch.object(kept_state, "_ROOT", self.root)
        patched.start()
        self.addCleanup(patched.stop)
        self.state = {"model": {"weight": torch.arange(5.0)}, "stateful": [{"epoch": 3}]}

    def keeper(self):
        return kept_state.StateKeeper(lambda: 0.0)

    def launches(self):
        return list((self.root / f"optile-state-{os.getuid()}").iterdir())

    def test_finds_what_was_kept_in_the_same_launch(self):
        self.assertEqual([], self.keeper().found())
        self.keeper().keep(7, {"model": {}})
        self.keeper().keep(8, self.state)
        found, = self.keeper().found()
        self.assertEqual(8, found.step)
        self.assertTrue(torch.equal(self.state["model"]["weight"], found.state["model"]["weight"]))
        self.assertEqual([{"epoch": 3}], found.state["stateful"])
        with mock.patch.dict("os.environ", {"LOCAL_RANK": "1"}):
            self.assertEqual([], self.keeper().found())

    def test_finds_what_was_kept_in_the_same_optile_launch(self):
        launch = {"OPTILE_LAUNCH": str(os.getpid()), "RANK": "2"}
        with mock.patch.dict("os.environ", launch):
            self.keeper().keep(7, self.state)
        self.assertEqual([], self.keeper().found())
        with mock.patch.dict("os.environ", {**launch, "RANK": "1"}):  # a rank less
            self.assertEqual([7], [one.step for one in self.keeper().found()])
        with mock.patch.dict("os.environ", {"OPTILE_LAUNCH": "4194305"}):  # nobody's number
            self.assertEqual([], self.keeper().found())
        self.assertEqual(1, len([one for one in self.launches()
                                 if one.name.startswith(f"{os.getpid()}-")]))

    def test_keeps_the_former_state_where_asked(self):
        keeper = kept_state.StateKeeper(lambda: 0.0, former=True)
        for step in (7, 8, 9):
            keeper.keep(step, self.state)
        found = kept_state.StateKeeper(lambda: 0.0, former=True).found()
        self.assertEqual([9, 8], [one.step for one in found])
        keeper.forget()
        self.assertEqual([], self.launches())

    def test_state_of_a_later_step_does_not_push_out_the_common_one(self):
        keeper = kept_state.StateKeeper(lambda: 0.0, former=True)
        for step in (10, 20):
            keeper.keep(step, self.state)
        again = kept_state.StateKeeper(lambda: 0.0, former=True)
        again.found()
        again.begin_at(10)  # another rank was lost before it kept 20
        again.keep(20, self.state)
        found = kept_state.StateKeeper(lambda: 0.0, former=True).found()
        self.assertEqual([20, 10], [one.step for one in found])
        at_first = kept_state.StateKeeper(lambda: 0.0, former=True)
        at_first.found()
        at_first.begin_at(0)
        self.assertEqual([], at_first.found())

    def test_nothing_is_kept_where_a_rank_cannot_keep_its_part(self):
        for kept, expected in ((0.0, 100), (1.0, None)):
            keeper = kept_state.StateKeeper(lambda: 0.0)
            keeper.begin_at(4)
            for step in (5, 6, 7):
                keeper.keep_where_due(step, 2.0, lambda: self.state,
                                      lambda mine: [mine, [2.0, 2.0, kept]], all_needed=True)
            self.assertEqual(expected, keeper.every)
        self.assertIn("another rank cannot keep", keeper.reason)
        self.assertEqual([], keeper.found())

    def said(self, *, kept, **environment):
        text = io.StringIO()
        with mock.patch.dict("os.environ", environment), contextlib.redirect_stderr(text):
            kept_state.say_begins_anew(kept, kept_state.was_started_before())
        return text.getvalue()

    def test_training_that_begins_anew_behind_a_loss_says_so(self):
        anew = "begins with what the program has loaded"
        self.assertEqual("", self.said(kept=False))
        self.assertEqual("", self.said(kept=False, OPTILE_CLUSTER_GENERATION="1",
                                       TORCHELASTIC_RESTART_COUNT="0"))
        for again in ({"OPTILE_CLUSTER_GENERATION": "2"}, {"TORCHELASTIC_RESTART_COUNT": "1"}):
            self.assertIn("nothing is kept", self.said(kept=False, **again))
            self.assertIn(anew, self.said(kept=False, **again))
        self.assertIn(anew, self.said(kept=True))

    def test_is_for_the_user_alone(self):
        self.keeper().keep(1, self.state)
        launch, = self.launches()
        self.assertEqual(0o700, launch.stat().st_mode & 0o777)
        self.assertEqual(0o700, launch.parent.stat().st_mode & 0o777)
        launch.parent.chmod(0o755)
        refused = self.keeper()
        self.assertIn("is not this user's alone", refused.reason)
        self.assertEqual([], refused.found())
        refused.keep(2, self.state)
        self.assertIsNone(refused.kept_step)

    def test_removes_what_ended_launches_left(self):
        self.keeper().keep(1, self.state)
        launch, = self.launches()
        processes = launch.name.split("-")[2]
        ended, elsewhere = f"1-0-{processes}", "1-0-7"  # process 1 has begun at another time
        launch.rename(launch.with_name(ended))
        launch.with_name(elsewhere).mkdir()
        self.keeper()
        names = [one.name for one in self.launches()]
        self.assertNotIn(ended, names)
        self.assertIn(elsewhere, names)

    def test_file_that_is_not_whole_is_no_state(self):
        self.keeper().keep(1, self.state)
        launch, = self.launches()
        file, = launch.iterdir()
        file.write_bytes(file.read_bytes()[:100])
        keeper = self.keeper()
        self.assertEqual([], keeper.found())
        self.assertIn(str(file), keeper.reason)

    def test_without_room_nothing_is_kept(self):
        self.keeper().keep(1, self.state)
        keeper = self.keeper()
        with mock.patch.object(kept_state.shutil, "disk_usage", return_value=mock.Mock(free=40)):
            keeper.keep(2, self.state)
        self.assertIn("3 times the room", keeper.reason)
        self.assertIsNone(keeper.kept_step)
        self.assertEqual([], self.launches())

    def test_costs_a_hundredth_of_the_steps_between(self):
        self.assertEqual(200, kept_state.steps_between(1.0, 0.5))
        self.assertEqual(1, kept_state.steps_between(0.0, 0.5))
        self.assertEqual(1, kept_state.steps_between(0.001, 10))


if __name__ == "__main__":
    unittest.main()
