"""A training's plans are published in etcd before they are in force; where etcd is away or refuses,
it goes on under the last one."""
import base64
import json
import unittest

from daemon.test_cluster import USER, WHEEL_PYTHON, ClusterTest
from support.harness import OPTILE, SCRIPTS, finish, wait_until


def encoded(text):
    return base64.b64encode(text.encode()).decode()


@unittest.skipUnless(WHEEL_PYTHON, "no PyTorch with a launcher: OPTILE_WHEEL_PYTHON is not set")
class PublishedPlans(ClusterTest):
    def setUp(self):
        super().setUp()
        self.spaces = [self.space, self.another_space()]
        self.told = self.space.dir / "told"
        for number, space in enumerate(self.spaces):
            space.start_daemon()
            self.assertEqual(0, self.join(space, f"node{number}").code)

    def tell(self, factor, end=False):
        """The program, by a file that is never half written."""
        text = self.space.dir / "text"
        text.write_text(json.dumps({"factor": factor, "end": end}))
        text.rename(self.told)

    def launch(self):
        """Node 0 has rank 0, since it comes first."""
        launches = []
        for number, space in enumerate(self.spaces):
            command = [OPTILE, "launch", "--socket", space.socket, "--nodes", "2:2", "--name",
                       "train", "--", WHEEL_PYTHON, SCRIPTS / "published_train.py", self.told]
            launches.append(space.popen(command, {
                "OPTILE_ETCD": self.etcd.url, "OPTILE_TORCH_BRIDGE": "off",
                "OPTILE_SOCKET": str(space.socket)}))
            wait_until(lambda count=number + 1: len(self.keys("jobs/train/members/")) == count,
                       "its claim")
        return launches

    def keys(self, begin):
        return self.etcd.keys(f"optile/{USER}/{begin}")

    def published(self):
        text, = self.keys("published/").values()
        return json.loads(text)

    def plan(self, space):
        """As that node's daemon shows it."""
        plans = space.get("/v1/cluster/plans")["plans"]
        return plans[0] if plans else {"publication": "", "ranks": []}

    def wait_for(self, state, part, space=None):
        """That plan of rank 0's part, with the cluster's answer; what was tried is measured, since
        another speed meanwhile would speak against it."""
        def there():
            plan = self.plan(space or self.space)
            return (plan["publication"] == state and plan["ranks"]
                    and abs(plan["ranks"][0]["part"] - part) < 0.05
                    and all(one["measured"] or one["reason"] for one in plan["changes"])
                    and plan)

        return wait_until(there, f"{part} of the rows, {state}")

    def shown(self):
        return self.space.ask("cluster", "plan").stdout

    def test_training_outlasts_etcd_and_later_owner_is_obeyed(self):  # fault: F65
        self.tell(1)
        launches = self.launch()
        self.wait_for("accepted", 0.5, self.spaces[1])
        self.assertEqual(1, self.published()["epoch"])
        self.tell(2)
        number = self.wait_for("accepted", 2 / 3)["epoch"]
        published = self.published()
        self.assertEqual(number, published["epoch"])
        self.assertAlmostEqual(2 / 3, published["plan"]["parts"][0], delta=0.05)
        self.assertAlmostEqual(1 / 2, published["way_back"]["parts"][0], delta=0.05)

        self.etcd.kill()
        self.tell(1)
        before = self.wait_for("unreachable", 2 / 3)
        wait_until(lambda: self.plan(self.space)["step"] > before["step"] + 20, "it to go on")
        self.assertIn("etcd  unreachable: ", self.shown())
        self.etcd.start()
        self.assertGreater(self.wait_for("accepted", 1 / 2)["epoch"], number)

        # What the owner of a later generation would have put.
        later = {**self.published(), "generation": 9, "token": "another"}
        self.etcd.post("/v3/kv/put", {"key": encoded(f"optile/{USER}/published/train"),
                                      "value": encoded(json.dumps(later))})
        self.tell(2)
        self.wait_for("refused", 1 / 2)
        self.assertIn("etcd  refused: a later plan of job train is published; this plan stays",
                      self.shown())
        self.tell(2, end=True)
        ended = [finish(one) for one in launches]
        self.assertEqual([0, 0], [one.code for one in ended], ended)
        report = json.loads(ended[0].stdout)
        self.assertEqual("refused", report["publication"]["state"])
        self.assertAlmostEqual(1 / 2, report["shares"][0], delta=0.05)


if __name__ == "__main__":
    unittest.main()
