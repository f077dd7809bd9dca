#!/usr/bin/python3
"""Real trainings side by side and alone, without optile and with it, for ./dev demo.

Side by side: all at once at their framework's defaults, then under optile with an empty store, then
one of them is killed. Alone: each untouched and under optile. Runs with a daemon and a store of its
own, so that it changes nothing of yours and starts from nothing.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench"))
import blas_provider  # noqa: E402
import demo_table  # noqa: E402
import settings  # noqa: E402
import workload_run  # noqa: E402
from demo_screen import Screen, rates_text  # noqa: E402
from demo_training import Pace, Training, TrainingError, times_as_fast  # noqa: E402
from private_daemon import PrivateDaemon  # noqa: E402
from workload_run import RunError  # noqa: E402

PROVIDER = "openblas-pthread"
FRAMEWORKS = {"pytorch": "PyTorch", "tensorflow": "TensorFlow"}
DEBIAN_PYTHON = blas_provider.PYTHON
TRAININGS = {
    "lstm": ["lstm.py"],
    "dcgan": ["dcgan.py"],
    "resnet50": ["resnet50.py", "--batch", "2"],
}
# Of bench/tensorflow/networks.py.
TENSORFLOW_TRAININGS = ("lstm", "dcgan", "inception_v3")
QUICK_TRAININGS = 2
LOOK_SECONDS = 0.02
LEASE_LOOK_SECONDS = 0.005
PHASE_LOOK_SECONDS = 0.5
START_PATIENCE = 120.0
END_PATIENCE = 10.0
# How long a training is shown over while it runs.
SHOWN_SECONDS = 5.0
ENDLESS_STEPS = "1000000"


@dataclass(frozen=True)
class Times:
    """Seconds. `settle`: from all being ready until steps count, for untouched runs."""

    start_together: float = 8.0  # only for the time left: a start ends when the last is ready
    start_alone: float = 3.0
    settle: float = 1.5
    together: float = 15.0
    learn: float = 10.0  # under optile, before steps count
    after_kill: float = 8.0
    alone: float = 7.0
    learn_alone: float = 8.0  # at most: it ends when the plan is settled
    parts: int = 2  # of the untouched run alone: before and after the tuned one

    def planned(self, count: int) -> float:
        together = 2 * (self.start_together + self.together) + self.settle + self.learn
        alone = self.parts * (self.start_alone + self.settle) + self.alone
        tuned = self.start_alone + self.learn_alone + self.alone
        return together + self.settle + self.after_kill + count * (alone + tuned)

    def scaled(self, by: float) -> "Times":
        seconds = {name: at * by for name, at in vars(self).items() if name != "parts"}
        return dataclasses.replace(self, **seconds)


QUICK = Times(
    start_together=5.0, start_alone=2.5, settle=1.0, together=6.0, learn=4.0, after_kill=4.0,
    alone=3.0, learn_alone=3.0, parts=1,
)  # fmt: skip


@dataclass
class Demo:
    """What is started, and where it leaves its output."""

    commands: Mapping[str, Sequence[str]]
    env: Mapping[str, str]
    results: pathlib.Path
    times: Times
    daemon: PrivateDaemon
    screen: Screen
    figures: demo_table.Figures
    fewest: int = sys.maxsize

    def begin(self, label: str, names: Sequence[str], tuned: bool) -> List[Training]:
        started: List[Training] = []
        try:
            for name in names:
                log = self.results / f"{file_name(label, name)}.log"
                report = str(log.with_suffix(".report.json"))
                prefix = [*self.daemon.prefix(["--report", report], False)] if tuned else []
                command = [*prefix, *self.commands[name]]
                started.append(Training(name, command, self.env, log))
        except BaseException:
            self.end(started)
            raise
        return started

    def end(self, trainings: Sequence[Training]) -> None:
        for one in trainings:
            one.end(END_PATIENCE)

    def watch(self, trainings: Sequence[Training], seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.look(trainings)

    def watch_until_tuned(self, trainings: Sequence[Training], limit: float) -> None:
        """So that trying widths is over where it can be in that time."""
        until = time.monotonic() + limit
        while time.monotonic() < until:
            self.watch(trainings, PHASE_LOOK_SECONDS)
            clients = self.daemon.get("/v1/clients")["clients"]
            if any(one["state"] == "running" and one["phase"] == "tuned" for one in clients):
                break

    def look(self, trainings: Sequence[Training], shown: bool = True) -> None:
        for one in trainings:
            one.look()
        now = time.monotonic()
        if shown:
            recent = {one.name: one.made.between(now - SHOWN_SECONDS, now) for one in trainings}
            self.screen.show({name: made.rate() for name, made in recent.items() if made.rate()})
        time.sleep(LOOK_SECONDS)

    def wait_until_ready(self, trainings: Sequence[Training], then: float) -> None:
        """All have made two steps, so that each is past its start; `then`: seconds that follow."""
        until = time.monotonic() + START_PATIENCE
        while any(len(one.made.counts) < 2 for one in trainings):
            self.look(trainings)
            if time.monotonic() > until:
                slow = [one for one in trainings if len(one.made.counts) < 2]
                raise TrainingError(
                    f"the training {slow[0].name} made no two steps in {START_PATIENCE:.0f} s; "
                    f"its output is in {slow[0].log}"
                )
        self.screen.ends_in(then)

    def made(self, trainings: Sequence[Training], seconds: float) -> Dict[str, Pace]:
        """What each makes in so many seconds from now."""
        begin = time.monotonic()
        self.watch(trainings, seconds)
        return {one.name: one.made.between(begin, time.monotonic()) for one in trainings}

    def rates(self, made: Mapping[str, Pace]) -> Dict[str, float]:
        self.fewest = min(self.fewest, *(one.steps for one in made.values()))
        return {name: one.rate() for name, one in made.items()}

    def leases(self, trainings: Sequence[Training]) -> Dict[str, float]:
        """Cores of each, by the daemon; what has not attached is missing."""
        found = {}
        clients = self.daemon.get("/v1/leases")["clients"]
        for one in trainings:
            script = next((word for word in self.commands[one.name] if word.endswith(".py")), "")
            for client in clients:
                if script and client["program"] == script:
                    found[one.name] = len(client["cores"]) * client["fraction"]
        return found

    # --- the phases -------------------------------------------------------------------------

    def side_by_side_untouched(self) -> None:
        label, times = "side by side, untouched", self.times
        self.screen.begin(label, times.start_together + times.settle + times.together)
        trainings = self.begin(label, self.figures.names, tuned=False)
        try:
            self.wait_until_ready(trainings, times.settle + times.together)
            self.watch(trainings, times.settle)
            self.figures.untouched = self.rates(self.made(trainings, times.together))
        finally:
            self.end(trainings)
        self.screen.finish(f"steps/s: {rates_text(self.figures.untouched)}")

    def side_by_side_tuned(self) -> None:
        label, times = "side by side, optile", self.times
        self.screen.begin(label, times.start_together + times.learn + times.together)
        trainings = self.begin(label, self.figures.names, tuned=True)
        try:
            self.wait_until_ready(trainings, times.learn + times.together)
            self.watch(trainings, times.learn)
            self.figures.tuned = self.rates(self.made(trainings, times.together))
            self.figures.leases = self.leases(trainings)
            self.screen.finish(f"steps/s: {rates_text(self.figures.tuned)}")
            self.kill_one(trainings)
        finally:
            self.end(trainings)

    def kill_one(self, trainings: List[Training]) -> None:
        """The first one: the others get its cores."""
        killed, times = trainings[0], self.times
        self.screen.begin(f"{killed.name} killed", times.settle + times.after_kill)
        before = {one.name: self.leases(trainings).get(one.name) for one in trainings[1:]}
        begin = time.monotonic()
        killed.kill()
        del trainings[0]
        while time.monotonic() < begin + times.settle:
            now = self.leases(trainings)
            if now and any(now.get(name) != cores for name, cores in before.items()):
                self.figures.freed_seconds = time.monotonic() - begin
                break
            time.sleep(LEASE_LOOK_SECONDS)
        self.watch(trainings, begin + times.settle - time.monotonic())
        self.figures.killed = killed.name
        self.figures.survivors = self.rates(self.made(trainings, times.after_kill))
        self.figures.survivor_leases = self.leases(trainings)
        self.screen.finish(f"steps/s: {rates_text(self.figures.survivors)}")

    def alone(self, name: str) -> None:
        """Untouched before and after the tuned run, where time allows: a machine's pace drifts."""
        times = self.times
        before = self.run_alone(name, "untouched", times.settle, times.alone / times.parts)
        tuned = self.run_alone(name, "optile", times.learn_alone, times.alone)
        for _ in range(1, times.parts):
            before += self.run_alone(name, "again", times.settle, times.alone / times.parts)
        self.fewest = min(self.fewest, before.steps, tuned.steps)
        ratio = times_as_fast(before, tuned)
        self.figures.alone[name] = before.rate()
        self.figures.alone_tuned[name] = tuned.rate()
        self.figures.factors[name] = demo_table.Factor(*ratio) if ratio else None
        report = self.results / f"{file_name(name + ' alone, optile', name)}.report.json"
        self.figures.reports[name] = load(report)

    def run_alone(self, name: str, how: str, learn: float, seconds: float) -> Pace:
        label = f"{name} alone, {how}"
        self.screen.begin(label, self.times.start_alone + learn + seconds)
        trainings = self.begin(label, [name], tuned=how == "optile")
        try:
            self.wait_until_ready(trainings, learn + seconds)
            if how == "optile":
                self.watch_until_tuned(trainings, learn)
            else:
                self.watch(trainings, learn)
            self.screen.ends_in(seconds)
            pace = self.made(trainings, seconds)[name]
        finally:
            self.end(trainings)
        self.screen.finish(f"steps/s: {pace.rate():.1f}")
        return pace

    def run(self) -> None:
        self.side_by_side_untouched()
        self.side_by_side_tuned()
        for name in self.figures.names:
            self.alone(name)
        self.figures.fewest_steps = self.fewest


def file_name(label: str, name: str) -> str:
    words = label.replace(",", "").split()
    return "-".join(words if name in words else [*words, name])


def load(path: pathlib.Path) -> Dict[str, Any]:
    """The report of a run; empty where there is none, as of one that optile saw nothing of."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def python_commands(framework: str, count: int) -> Dict[str, List[str]]:
    """Each run of a training has the same words: that makes it the same program to optile."""
    if framework == "tensorflow":
        script = str(ROOT / "bench" / "tensorflow" / "networks.py")
        return {
            name: [blas_provider.PYTHON, script, name, "--steps", ENDLESS_STEPS]
            for name in TENSORFLOW_TRAININGS[:count]
        }
    return {
        name: [blas_provider.PYTHON, str(blas_provider.WORKLOADS / script), "--steps",
               ENDLESS_STEPS, *words]
        for name, (script, *words) in list(TRAININGS.items())[:count]
    }  # fmt: skip


def last_line_of(program: str, env: Mapping[str, str], framework: str, advice: str) -> str:
    """Of what the trainings' Python prints; raises where the framework is not there."""
    done = subprocess.run(
        [blas_provider.PYTHON, "-c", program], env=dict(env), stdout=subprocess.PIPE, text=True,
        check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise RunError(f"{blas_provider.PYTHON} cannot import {framework}, see above: {advice}")
    return done.stdout.splitlines()[-1]


def cores_line() -> str:
    machine = settings.machine_description()
    return f"{machine['usable_cores']} cores ({machine['model']})"


def tensorflow_line(env: Mapping[str, str]) -> str:
    """What the trainings will find."""
    program = "import keras, tensorflow\nprint(tensorflow.__version__, 'Keras', keras.__version__)"
    advice = (
        "pip install tensorflow-cpu, or leave out --python and ./dev demo makes an environment "
        "with it"
    )
    return f"{cores_line()}, TensorFlow {last_line_of(program, env, 'TensorFlow', advice)}"


def machine_line(provider: str, env: Mapping[str, str]) -> str:
    """What the trainings will find; raises where the BLAS is not there."""
    program = (
        "import json, sys\n"
        f"sys.path.insert(0, {str(blas_provider.WORKLOADS)!r})\n"
        "import torch, training\n"
        "blas = training.blas_in_use(training.mapped_libraries())['provider']\n"
        "print(json.dumps([torch.__version__, torch.get_num_threads(), blas]))\n"
    )
    version, threads, blas = json.loads(last_line_of(program, env, "PyTorch", "./dev setup run"))
    if provider != blas_provider.WITHIN_PYTORCH:
        blas_provider.require(provider, blas)
    many = "thread" if threads == 1 else "threads"
    own = "its own" if blas == "none" else blas
    return f"{cores_line()}, PyTorch {version} (by itself {threads} {many}), BLAS {own}"


def ensure_bridge(build: pathlib.Path) -> None:
    """To a wheel's PyTorch: else the first run would only see OpenMP regions."""

    def bridge(verb: str, errors: int) -> bool:
        command = [build / "bin" / "optile", "bridge", verb, "--python", blas_provider.PYTHON]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=errors, check=False)
        return done.returncode == 0

    if bridge("check", subprocess.DEVNULL):
        return
    print("Building the bridge to this PyTorch, once", flush=True)
    if not bridge("build", sys.stderr.fileno()):
        raise RunError("no bridge to this PyTorch, see above: without it no op is seen")


def training_words(text: str) -> Tuple[str, List[str]]:
    """NAME=COMMAND, for the tests."""
    name, _, command = text.partition("=")
    return name, shlex.split(command)


def parse_options(arguments: Optional[Sequence[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev demo", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two trainings, one minute")
    parser.add_argument("--framework", choices=FRAMEWORKS, default="pytorch", help="the trainings'")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="build folder")
    parser.add_argument(
        "--results", type=pathlib.Path, help="folder of logs and figures (default: demo in build)"
    )
    workload_run.add_python_argument(parser)
    parser.add_argument("--scale", type=float, default=1.0, help=argparse.SUPPRESS)
    parser.add_argument("--training", type=training_words, action="append", help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def show(options: argparse.Namespace, private: pathlib.Path, results: pathlib.Path) -> None:
    debian = blas_provider.PYTHON == DEBIAN_PYTHON
    provider = PROVIDER if debian else blas_provider.WITHIN_PYTORCH
    env = settings.clean_environment(provider)
    env.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    times = (QUICK if options.quick else Times()).scaled(options.scale)
    if options.training:
        commands, machine = dict(options.training), f"{settings.usable_cores()} cores"
    else:
        many = QUICK_TRAININGS if options.quick else len(TRAININGS)
        commands = python_commands(options.framework, many)
        if options.framework == "tensorflow":
            machine = tensorflow_line(env)
        else:
            machine = machine_line(provider, env)
            if not debian:
                ensure_bridge(options.build)
    figures = demo_table.Figures(machine, names=list(commands))
    figures.framework = FRAMEWORKS[options.framework]
    planned = times.planned(len(commands))
    print(
        f"{machine}\nTrainings: {', '.join(commands)}; about {planned:.0f} s. Their output goes "
        f"to\n{results}\n",
        flush=True,
    )
    with PrivateDaemon(options.build, private, "demo") as daemon:
        screen = Screen(planned)
        try:
            Demo(commands, env, results, times, daemon, screen, figures).run()
        except BaseException:
            screen.leave()
            raise
    workload_run.write_json(results / "figures.json", dataclasses.asdict(figures))
    print("\n" + "\n".join(demo_table.lines(figures, str(results))))


def main(arguments: List[str]) -> int:
    options = parse_options(arguments)
    results = (options.results or options.build / "demo").resolve()
    if options.results is None:
        shutil.rmtree(results, ignore_errors=True)
    results.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="optile-demo-") as private:
        try:
            show(options, pathlib.Path(private), results)
        except TrainingError as error:
            print(f"demo: {error}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(workload_run.command_line("demo", main))
