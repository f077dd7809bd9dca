"""Words that were replaced by the field's: names with them may not come back.

Each stands beside the word for it, which docs/reference/glossary.md defines where hwloc, OpenMP,
DLB or oneTBB do not.
"""

from __future__ import annotations

import pathlib
import re
from typing import List, Mapping

import tree
from tree import Problem

# As types are called; the same word in names of files, functions and variables is found too.
RETIRED: Mapping[str, str] = {
    "Attendance": "ClientCensus",
    "CaseSet": "ConfigurationSpace",
    "CaseTimes": "ConfigurationTimes",
    "Company": "CoRunners",
    "CoreLedger": "CoreOwnership",
    "DeathWatch": "ExitMonitor",
    "DecisionPace": "RebalanceRateLimiter",
    "DivisionPace": "RebalanceBackoff",
    "EntryGuard": "CircuitBreaker",
    "EnvironmentWord": "EnvironmentValue",
    "HangWatch": "HangDetector",
    "HeardSteps": "FewestSampledSteps",
    "Hello": "AttachRequest",
    "IgnoredWords": "IgnoredVariables",
    "KeptWords": "PersistedCommands",
    "KnownWord": "KnownVariable",
    "LaunchWord": "LaunchOption",
    "LeaseWord": "LeaseCommand",
    "LeasedClient": "ManagedClient",
    "LentTime": "CoreSecondsCounter",
    "LifeWord": "LivenessFutex",
    "ListenedSteps": "SampledSteps",
    "MasterMask": "PrimaryThreadMask",
    "MayRest": "MayPauseSampling",
    "OfferRest": "OfferSamplingPause",
    "OthersLoad": "CoRunnerLoad",
    "OwnWidth": "DefaultWidth",
    "PlacedFile": "OwnedPath",
    "PlanGuard": "RegressionDetector",
    "PlanSum": "PlanChecksum",
    "RestedSteps": "UnsampledSteps",
    "SaidPid": "ReportedPid",
    "ShortTurns": "SchedPolicy",
    "StepRecogniser": "PeriodDetector",
    "TeamPace": "RegionThroughput",
    "ToldDemand": "ReportedDemand",
    "ToldWidth": "LaunchedWidth",
    "Unkept": "Pending",
    "UnmanagedCores": "ExternalCores",
    "UnmanagedLoad": "ExternalLoad",
    "UnwatchedSteps": "UnsampledSteps",
    "UserWord": "DefaultWidthSource",
    "UsersWord": "UserSetting",
    "WaitingWatch": "IdleDetector",
    "Welcome": "AttachReply",
    "WidthIsSaid": "ReportedWidth",
}
OF_THIS_TEST = ("tests/repo/retired_words.py", "tests/repo/retired_words_test.py")
# Names in files that older versions wrote.
OF_OLDER_FILES = ("daemon/store/store.cc", "tests/daemon/store/store_upgrade_test.cc")


def _snake(word: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", word).lower()


_SNAKES = {word: _snake(word) for word in RETIRED}
_PATTERNS = {
    word: re.compile(rf"(?<![A-Za-z0-9])(?:{word}(?![a-z])|{_SNAKES[word]}(?![A-Za-z0-9]))")
    for word in RETIRED
}


def problems_of(name: str, text: str) -> List[Problem]:
    """Those of one file: in its name (line 0) and in its text."""
    found: List[Problem] = []
    lines = [name, *text.splitlines()]
    whole = "\n".join(lines)
    # Few files have any as a part of something: looking for that is cheap.
    patterns = {
        word: pattern for word, pattern in _PATTERNS.items()
        if word in whole or _SNAKES[word] in whole
    }
    if not patterns:
        return found
    for number, line in enumerate(lines):
        for word, pattern in patterns.items():
            if pattern.search(line):
                found.append(Problem(name, number, f"{word} is called {RETIRED[word]} now"))
    return found


def problems(root: pathlib.Path) -> List[Problem]:
    found: List[Problem] = []
    for name in tree.with_suffix(tree.files(root), *tree.CXX_SUFFIXES, ".py", ".md"):
        if name not in OF_THIS_TEST + OF_OLDER_FILES:
            found.extend(problems_of(name, tree.read(root, name)))
    return found
