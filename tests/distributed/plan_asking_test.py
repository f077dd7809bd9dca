"""How rank 0 asks whether a plan may be changed, with a daemon that is played, and how the ranks go
by what it hears (bindings/python/optile/distributed/plan_asking.py)."""
import contextlib
import json
import socket
import tempfile
import threading
import unittest
from unittest import mock

from parts import changes, plan_asking, plan_record, plan_telling, shares

CLAIM = {"token": "t1", "generation": 2}
V = plan_asking.Verdict


class PlayedDaemon:
    """Answers what it is asked as `states` say, one each time that somebody looks: the state of a
    publication, None for no answer, an exception, or a status with a body."""

    def __init__(self, *states):
        self.states = list(states)
        self.bodies = []

    def __call__(self, body):
        if self.states and self.states[0] == "deaf":
            self.states.pop(0)
            raise BlockingIOError("full")
        self.bodies.append(json.loads(body))
        return self

    def answer(self):
        state = self.states.pop(0) if self.states else None
        if isinstance(state, OSError):
            raise state
        if state is None or isinstance(state, tuple):
            return state
        return 200, {"state": state, "reason": f"why {state}" if state != "accepted" else ""}

    def close(self):
        pass

    @property
    def numbers(self):
        return [one["plan"]["epoch"] for one in self.bodies]


class Asking(unittest.TestCase):
    def setUp(self):
        self.now = 100.0

    def asker(self, daemon, claim=CLAIM):
        return plan_asking.PlanAsker(claim, daemon, lambda: self.now)

    def ask(self, asker, in_force=False):
        self.assertTrue(asker.idle)
        asker.ask({"epoch": asker.next_number(in_force)}, in_force)

    def test_without_claim_nobody_is_asked_and_numbers_grow_by_one(self):
        daemon = PlayedDaemon()
        asker = self.asker(daemon, None)
        self.assertIs(V.ALONE, asker.look())
        self.assertFalse(asker.idle)
        asker.changed()
        self.assertEqual((2, "none", []), (asker.number, asker.state, daemon.bodies))

    def test_accepted_plan_has_the_number_that_was_asked_for(self):
        daemon = PlayedDaemon("asked", None, "accepted")
        asker = self.asker(daemon)
        self.ask(asker)
        self.assertIs(V.WAIT, asker.look())
        self.now += 1
        self.assertIs(V.WAIT, asker.look())  # sent again
        self.assertIs(V.WAIT, asker.look())
        self.assertIs(V.ACCEPTED, asker.look())
        self.assertEqual(2, asker.number)
        asker.changed()
        self.assertEqual((2, "accepted", True), (asker.number, asker.state, asker.published))
        self.assertEqual([2, 2], daemon.numbers)
        self.assertEqual(CLAIM, daemon.bodies[0]["claim"])
        self.assertIs(V.READY, asker.look())

    def test_way_back_has_a_number_of_its_own_which_is_stated_later(self):
        asker = self.asker(PlayedDaemon("accepted", "accepted"))
        self.ask(asker)
        self.assertIs(V.ACCEPTED, asker.look())
        asker.changed()
        asker.changed()  # back
        self.assertEqual((3, "asked", False), (asker.number, asker.state, asker.published))
        self.ask(asker, in_force=True)
        self.assertIs(V.READY, asker.look())
        self.assertEqual((3, "accepted"), (asker.number, asker.state))

    def test_unreachable_is_given_up_and_asked_again_with_another_number_and_longer_pauses(self):
        daemon = PlayedDaemon(*["unreachable"] * 8, "accepted")
        asker = self.asker(daemon)
        pauses = []
        for _ in range(8):
            self.ask(asker)
            self.assertIs(V.UNREACHABLE, asker.look())
            self.assertEqual(("unreachable", 1), (asker.state, asker.number))
            began = self.now
            while asker.look() is V.WAIT:
                self.now += 1
            pauses.append(self.now - began)
        self.assertEqual([2, 4, 8, 16, 32, 60, 60, 60], pauses)
        self.ask(asker)
        self.assertIs(V.ACCEPTED, asker.look())
        self.assertEqual(list(range(2, 11)), daemon.numbers)
        self.assertEqual(("", 10), (asker.reason, asker.number))

    # It may be published what was given up: so the plan in force is, behind it.
    def test_plan_in_force_is_stated_anew_behind_what_was_given_up(self):
        daemon = PlayedDaemon("accepted", "unreachable", "accepted")
        asker = self.asker(daemon)
        self.ask(asker, in_force=True)
        self.assertIs(V.READY, asker.look())
        self.ask(asker)
        self.assertIs(V.UNREACHABLE, asker.look())
        self.assertFalse(asker.published)
        self.now += 2
        self.ask(asker, in_force=True)
        self.assertIs(V.READY, asker.look())
        self.assertEqual([1, 2, 3], daemon.numbers)
        self.assertEqual((3, True), (asker.number, asker.published))

    def test_refused_is_for_good(self):
        daemon = PlayedDaemon("refused")
        asker = self.asker(daemon)
        self.ask(asker)
        self.assertIs(V.REFUSED, asker.look())
        self.now += 1000
        self.assertIs(V.REFUSED, asker.look())
        self.assertFalse(asker.idle)
        self.assertEqual(("refused", "why refused", 1), (asker.state, asker.reason, asker.number))

    def test_daemon_that_does_not_answer_is_waited_for_so_long(self):
        asker = self.asker(PlayedDaemon())
        self.ask(asker)
        self.now += 9
        self.assertIs(V.WAIT, asker.look())
        self.now += 1
        self.assertIs(V.UNREACHABLE, asker.look())
        asker = self.asker(PlayedDaemon(*["asked"] * 999))
        self.ask(asker)
        began = self.now
        while (verdict := asker.look()) is V.WAIT:
            self.now += 1
        self.assertEqual((V.UNREACHABLE, 10), (verdict, self.now - began))

    def test_daemon_that_is_gone_or_has_no_cluster_is_unreachable(self):
        for state, reason in ((ConnectionError("reset"), "the daemon does not answer: reset"),
                              ("deaf", "the daemon does not answer: full"),
                              ((409, {"error": {"message": "no cluster"}}), "no cluster"),
                              ((500, []), "the daemon answers with status 500"),
                              ((200, {"state": 7}), "etcd does not answer"),
                              ((200, None), "etcd does not answer")):
            asker = self.asker(PlayedDaemon(state))
            self.ask(asker)
            with self.subTest(reason):
                self.assertIs(V.UNREACHABLE, asker.look())
                self.assertEqual(reason, asker.reason)

    def test_daemon_without_the_route_leaves_the_ranks_alone(self):
        asker = self.asker(PlayedDaemon((404, {})))
        self.ask(asker)
        self.assertIs(V.ALONE, asker.look())
        self.assertEqual("none", asker.state)

    def test_claim_is_what_launch_says(self):
        for said, claim in (({}, None), ({"OPTILE_CLUSTER_CLAIM": ""}, None),
                            ({"OPTILE_CLUSTER_CLAIM": "t"}, {"token": "t", "generation": 0}),
                            ({"OPTILE_CLUSTER_CLAIM": "t", "OPTILE_CLUSTER_GENERATION": "3"},
                             {"token": "t", "generation": 3}),
                            ({"OPTILE_CLUSTER_CLAIM": "t", "OPTILE_CLUSTER_GENERATION": "x"},
                             None)):
            with mock.patch.dict("os.environ", said, clear=True):
                self.assertEqual(claim, plan_asking.launch_claim())


class Socket(unittest.TestCase):
    """By a real one."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = f"{folder.name}/optiled.sock"
        self.listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(self.listener.close)
        self.listener.bind(self.path)
        self.listener.listen(1)

    def test_answer_comes_in_pieces(self):
        question = plan_asking.SocketQuestion(self.path, "/v1/x", '{"a": 1}')
        self.addCleanup(question.close)
        peer, _ = self.listener.accept()
        self.assertTrue(peer.recv(65536).endswith(b'\r\n\r\n{"a": 1}'))
        self.assertIsNone(question.answer())
        peer.sendall(b'HTTP/1.1 200 OK\r\n\r\n{"state"')
        self.assertIsNone(question.answer())
        peer.sendall(b': "accepted"}')
        peer.close()
        self.assertEqual((200, {"state": "accepted"}), question.answer())

    def test_what_ends_early_or_never_began_is_an_error(self):
        for text in (b"", b"HTTP/1.1 200 OK\r\n\r\n{", b"nonsense\r\n\r\n{}"):
            question = plan_asking.SocketQuestion(self.path, "/v1/x", "{}")
            peer, _ = self.listener.accept()
            peer.recv(65536)
            peer.sendall(text)
            peer.close()
            with self.assertRaises(OSError):
                question.answer()
            question.close()
        with self.assertRaises(OSError):
            plan_asking.SocketQuestion("/nowhere/optiled.sock", "/v1/x", "{}")


class Ranks(unittest.TestCase):
    """Two of a data parallel training, the second of which is twice as slow: what their controller
    does behind each window."""

    def setUp(self):
        self.controller = shares.ShareController(2)
        self.step = 2

    def window(self, verdict):
        self.step += 5
        rows = shares.divide(self.controller.shares, 60)
        seconds = max(rows[0], 2 * rows[1])
        return self.controller.add(shares.Window(rows, [1.0, 2.0], seconds), self.step, verdict)

    def propose(self):
        self.assertFalse(self.window(V.READY))
        self.assertFalse(self.window(V.READY))
        self.assertIsNotNone(self.controller.proposed)

    def assert_equal_shares(self):
        self.assertEqual([0.5, 0.5], self.controller.shares)
        self.assertEqual([], self.controller.changes)

    def test_alone_they_change_at_once(self):
        self.assertFalse(self.window(V.ALONE))
        self.assertTrue(self.window(V.ALONE))
        self.assertIsNone(self.controller.proposed)

    def test_nothing_changes_before_it_is_accepted(self):
        self.propose()
        for _ in range(5):
            self.assertFalse(self.window(V.WAIT))
        self.assert_equal_shares()
        self.assertTrue(self.window(V.ACCEPTED))
        self.assertAlmostEqual(2 / 3, self.controller.shares[0])
        change, = self.controller.changes
        self.assertEqual(self.step, change.step)
        self.assertIsNone(self.controller.proposed)
        self.assertFalse(self.window(V.READY))
        self.assertAlmostEqual(1.5, change.measured)

    def test_nothing_is_proposed_while_rank_0_waits_or_is_refused(self):
        for verdict in (V.WAIT, V.REFUSED, V.UNREACHABLE):
            for _ in range(4):
                self.assertFalse(self.window(verdict))
            self.assertIsNone(self.controller.proposed)
        self.assert_equal_shares()

    def test_unreachable_is_given_up_and_proposed_anew(self):
        self.propose()
        self.assertFalse(self.window(V.UNREACHABLE))
        self.assertIsNone(self.controller.proposed)
        self.assertFalse(self.window(V.WAIT))
        self.assertFalse(self.window(V.READY))
        self.assertIsNotNone(self.controller.proposed)
        self.assertTrue(self.window(V.ACCEPTED))

    def test_refused_changes_nothing_any_more(self):
        self.propose()
        for _ in range(10):
            self.assertFalse(self.window(V.REFUSED))
        self.assert_equal_shares()

    def test_trial_that_does_not_gain_is_taken_back_without_asking(self):
        self.propose()
        self.assertTrue(self.window(V.ACCEPTED))
        self.step += 5
        rows = shares.divide(self.controller.shares, 60)
        self.assertTrue(self.controller.add(shares.Window(rows, [1.0, 2.0], 90.0), self.step,
                                            V.WAIT))
        self.assertEqual([0.5, 0.5], self.controller.shares)
        self.assertFalse(self.controller.changes[0].kept)


class Teller(unittest.TestCase):
    """What rank 0 tells and asks, by the played daemon's socket."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = f"{folder.name}/optiled.sock"
        self.states = ["accepted"]
        self.asked, self.told = [], []
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(self.path)
        listener.listen(16)
        self.cluster = "member"
        thread = threading.Thread(target=self.serve, args=(listener,))
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(self.stop)

    def stop(self):
        with socket.socket(socket.AF_UNIX) as last:
            last.connect(self.path)
            last.sendall(b"STOP ")

    def serve(self, listener):
        with listener:
            while True:
                peer, _ = listener.accept()
                with peer:
                    got = b""
                    while b"\r\n\r\n" not in got and not got.startswith(b"STOP "):
                        got += peer.recv(1 << 20)
                    if got.startswith(b"STOP "):
                        return
                    head, _, body = got.partition(b"\r\n\r\n")
                    said = json.dumps(self.said(head, body)).encode()
                    with contextlib.suppress(OSError):  # whoever tells a plan reads no answer
                        peer.sendall(b"HTTP/1.1 200 OK\r\n\r\n" + said)

    def said(self, head, body):
        if head.startswith(b"GET"):
            return {"state": self.cluster}
        if b"/v1/cluster/publications" not in head:
            self.told.append(json.loads(body))
            return {}
        self.asked.append(json.loads(body))
        return {"state": self.states.pop(0), "reason": "because"}

    def teller(self, **said):
        with mock.patch.dict("os.environ", {"OPTILE_SOCKET": self.path, **said}, clear=True):
            return plan_telling.PlanTeller(["a", "b"])

    def verdict(self, teller):
        """That which is not WAIT."""
        for _ in range(10_000_000):
            if (verdict := teller.verdict()) is not V.WAIT:
                return verdict
        self.fail("no verdict")

    def test_plan_is_asked_for_before_it_is_told(self):
        teller = self.teller(OPTILE_CLUSTER_CLAIM="t1", OPTILE_CLUSTER_JOB="train")
        equal = plan_record.PlanInForce([0.5, 0.5])
        teller.tell(0, equal, [], [])
        self.assertIs(V.READY, self.verdict(teller))
        change = changes.Change(20, [0.5, 0.5], [0.75, 0.25], 1.2, whole_seconds=[1.0, 2.0])
        self.states = ["asked", "accepted"]
        teller.tell(20, equal, [], [], change)
        self.assertIs(V.ACCEPTED, self.verdict(teller))
        teller.changed(25)
        teller.tell(25, plan_record.PlanInForce([0.75, 0.25]), [], [change])
        first, *_, second = [one["plan"] for one in self.asked]
        self.assertEqual(("train", 1, [0.5, 0.5]), (first["job"], first["epoch"],
                                                    [one["part"] for one in first["ranks"]]))
        self.assertEqual((2, [0.75, 0.25]), (second["epoch"],
                                             [one["part"] for one in second["ranks"]]))
        self.assertIsNone(second["changes"][-1]["measured"])
        self.assertEqual({"token": "t1", "generation": 0}, self.asked[0]["claim"])
        self.assertEqual({"state": "accepted", "number": 2, "reason": ""}, teller.publication)

    def test_outside_a_cluster_or_a_launch_nobody_is_asked(self):
        self.cluster = "none"
        tellers = [self.teller(OPTILE_CLUSTER_CLAIM="t1"), self.teller()]
        with mock.patch.dict("os.environ", {"OPTILE_SOCKET": "/nowhere/x",
                                            "OPTILE_CLUSTER_CLAIM": "t1"}, clear=True):
            tellers.append(plan_telling.PlanTeller(["a"]))
        for teller in tellers:
            teller.tell(0, plan_record.PlanInForce([0.5, 0.5]), [], [])
            self.assertIs(V.ALONE, teller.verdict())
            self.assertEqual("none", teller.publication["state"])
        self.assertEqual([], self.asked)


if __name__ == "__main__":
    unittest.main()
