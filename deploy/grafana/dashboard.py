#!/usr/bin/python3
"""Prints dashboard.json, built with Grafana's typed builders: what they do not know, mypy refuses.

    python3 -m venv VENV && VENV/bin/pip install -r deploy/grafana/requirements.txt
    VENV/bin/python deploy/grafana/dashboard.py > deploy/grafana/dashboard.json
"""

import json
from typing import List, Optional, Tuple, Union

from grafana_foundation_sdk.builders import common as build_common
from grafana_foundation_sdk.builders import dashboard as build
from grafana_foundation_sdk.builders import prometheus, stat, table, timeseries
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import common
from grafana_foundation_sdk.models import dashboard
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

SOURCE = dashboard.DataSourceRef(type_val="prometheus", uid="${source}")
# What every query is narrowed to.
CLIENT = 'instance=~"$instance", program=~"$program"'
DAEMON = 'instance=~"$instance"'
NAME = "{{program}} #{{client}}"
HALF, THIRD, WHOLE = 12, 8, 24

Panel = Union[stat.Panel, table.Panel, timeseries.Panel]
Query = Tuple[str, str]  # PromQL, legend


def target(expr: str, legend: str) -> prometheus.Dataquery:
    return prometheus.Dataquery().expr(expr).legend_format(legend).range()


def chart(title: str, unit: str, queries: List[Query], text: str = "",
          span: int = HALF, soft: Optional[Tuple[float, float]] = None) -> timeseries.Panel:
    panel = (
        timeseries.Panel().title(title).description(text).unit(unit).datasource(SOURCE)
        .span(span).height(8).line_width(2).fill_opacity(5)
        .legend(build_common.VizLegendOptions().show_legend(True)
                .placement(common.LegendPlacement.BOTTOM)
                .display_mode(common.LegendDisplayMode.LIST).calcs(["lastNotNull"]))
    )
    if soft:
        panel = panel.axis_soft_min(soft[0]).axis_soft_max(soft[1])
    return panel.targets([target(expr, legend) for expr, legend in queries])


def colours(*steps: Tuple[Optional[float], str]) -> build.ThresholdsConfig:
    return build.ThresholdsConfig().mode(dashboard.ThresholdsMode.ABSOLUTE).steps(
        [dashboard.Threshold(value=value, color=colour) for value, colour in steps])


def figure(title: str, unit: str, query: Query, thresholds: build.ThresholdsConfig,
           text: str = "", span: int = THIRD, decimals: int = 2) -> stat.Panel:
    return (
        stat.Panel().title(title).description(text).unit(unit).decimals(decimals)
        .datasource(SOURCE).span(span).height(6).thresholds(thresholds)
        .color_mode(common.BigValueColorMode.VALUE).graph_mode(common.BigValueGraphMode.AREA)
        .no_value("nothing yet").targets([target(*query)])
    )


def ops_table() -> table.Panel:
    query = (
        prometheus.Dataquery().instant().format(PromQueryFormat.TABLE)
        .expr(f"topk(20, sum by (program, op, shape, direction) "
              f"(rate(optile_op_seconds_total{{{CLIENT}}}[$__rate_interval])))")
    )
    return (
        table.Panel().title("Ops that take the most time").datasource(SOURCE).span(WHOLE)
        .description("Seconds a second inside the op, over all attached runs.").height(9)
        .unit("s").decimals(4).targets([query])
    )


def helping() -> List[Panel]:
    steps = colours((None, "red"), (0.98, "text"), (1.02, "green"))
    speedup = f"optile_client_speedup_ratio{{{CLIENT}, kind="
    return [
        figure("Speed of an untouched run", "none", (speedup + '"separate_run"}', NAME), steps,
               "Step time of an untouched run over step time tuned; above 1 is faster. Empty "
               "until `optile baseline` has recorded the program."),
        figure("Speed at its default widths", "none", (speedup + '"control"}', NAME), steps,
               "Control steps of the same run over tuned steps."),
        figure("Saved", "s", ("program:optile_saved_seconds:rate5m"
                              f"{{{CLIENT}}}", NAME), colours((None, "text")),
               "Seconds that each second in steps would have taken on top (recording rule)."),
        chart("Speedup", "none",
              [(f"program:optile_speedup:ratio{{{CLIENT}}}", NAME),
               (f"program:optile_speedup_low:ratio{{{CLIENT}}}", NAME + " low"),
               (f"program:optile_speedup_high:ratio{{{CLIENT}}}", NAME + " high"),
               (f"program:optile_speedup_disturbed:bool{{{CLIENT}}} == 1", NAME + " disturbed")],
              "The strictest comparison there is, with its 95 % interval; a line at 1 where it was "
              "disturbed, such as by others that kept cores busy (recording rules).",
              soft=(0.9, 1.1)),
        chart("Steps that the speedup rests on", "none",
              [(f"optile_client_speedup_steps{{{CLIENT}}}", NAME + " {{kind}} {{side}}")],
              "Of either side of the comparison."),
        chart("Time of a step", "s",
              [(f"optile_client_step_seconds{{{CLIENT}}}", NAME + " {{kind}}")],
              "Mean: default widths, best single width, tuned, untouched run."),
    ]


def costs() -> List[Panel]:
    return [
        chart("Lost to the search", "percentunit",
              [(f"program:optile_search_cost:ratio{{{CLIENT}}}", NAME)],
              "Share of the run so far (recording rule).", THIRD, (0, 0.05)),
        chart("Control steps", "percentunit",
              [(f"program:optile_control_cost:ratio{{{CLIENT}}}", NAME)],
              "What it costs to know that the plan still pays (recording rule).", THIRD,
              (0, 0.005)),
        chart("Inside the shim", "percentunit",
              [(f"optile_client_shim_seconds{{{CLIENT}}} / "
                f"(optile_client_seconds_in_steps{{{CLIENT}}} > 0)", NAME)],
              "Share of the run, as the shim counts its own time.", THIRD, (0, 0.01)),
    ]


def doing() -> List[Panel]:
    return [
        chart("Steps a second", "none",
              [(f"rate(optile_client_steps_total{{{CLIENT}}}[$__rate_interval])", NAME)],
              span=THIRD),
        chart("Taken back", "none",
              [(f"optile_client_rollbacks_total{{{CLIENT}}}", NAME + " {{what}}")],
              "Plans and ops that lost against the program's default widths.", THIRD),
        chart("Events lost", "percentunit",
              [(f"program:optile_events_lost:ratio_rate5m{{{CLIENT}}}", NAME)],
              "Dropped or rejected (recording rule).", THIRD, (0, 0.01)),
        chart("Programs by phase", "none",
              [(f"sum by (phase) (optile_clients{{{DAEMON}}})", "{{phase}}")], span=THIRD),
        chart("Places of ops that are steered", "none",
              [(f"optile_client_steered_ops{{{CLIENT}}}", NAME + " steered"),
               (f"optile_client_ops{{{CLIENT}}}", NAME + " all")], span=THIRD),
        chart("Clients", "none",
              [(f"increase(optile_clients_attached_total{{{DAEMON}}}[1h])", "{{instance}}")],
              "Attached in the last hour.", THIRD),
        chart("Cores of each program", "none",
              [(f"optile_client_leased_cores{{{CLIENT}}}", NAME),
               (f"optile_lease_held_cores{{{DAEMON}}}", "{{instance}} together")],
              "What is leased to it; by turns it counts as a fraction.", THIRD),
        chart("Progress of each program", "percentunit",
              [(f"optile_client_lease_progress{{{CLIENT}}}", NAME + " {{kind}}")],
              "Throughput with its lease over that alone: how fairly cores are divided.",
              THIRD, (0, 1)),
        chart("Share of a step in ops", "percentunit",
              [(f"optile_client_coverage_ratio{{{CLIENT}}}", NAME + " {{kind}}")],
              "Observed, and such as can be steered.", THIRD, (0, 1)),
        ops_table(),
    ]


def well() -> List[Panel]:
    return [
        chart("Processor time", "percentunit",
              [(f"rate(process_cpu_seconds_total{{{DAEMON}, job=\"optile\"}}[$__rate_interval])",
                "{{instance}}")], "Of one core.", THIRD),
        chart("Memory", "bytes",
              [(f"process_resident_memory_bytes{{{DAEMON}, job=\"optile\"}}", "{{instance}}")],
              span=THIRD),
        chart("Making a page of metrics", "s",
              [(f"optile_scrape_seconds{{{DAEMON}}}", "{{instance}}")], span=THIRD),
        chart("Series", "none",
              [(f"optile_series{{{DAEMON}}}", "{{instance}}"),
               (f"optile_series_dropped{{{DAEMON}}}", "{{instance}} dropped")], span=THIRD),
        chart("Store", "none",
              [(f"optile_store_state{{{DAEMON}}} == 1", "{{instance}} {{state}}"),
               (f"optile_store_pending_records{{{DAEMON}}}", "{{instance}} waiting")],
              "Where what is learned is kept, and what waits to be written.", THIRD),
        chart("Refused programs", "none",
              [(f"increase(optile_clients_refused_total{{{DAEMON}}}[1h])", "{{instance}}")],
              "In the last hour.", THIRD),
    ]


def variable(name: str, label: str, metric: str) -> build.QueryVariable:
    return (
        build.QueryVariable(name).label(label).datasource(SOURCE).multi(True).include_all(True)
        .all_value(".*").refresh(dashboard.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .query(f"label_values({metric}, {name})")
        .current(dashboard.VariableOption(selected=True, text="All", value="$__all"))
    )


def make() -> dashboard.Dashboard:
    made = (
        build.Dashboard("optile: is it helping?").uid("optile").tags(["optile"]).readonly()
        .time("now-30m", "now").refresh("15s").timezone("browser")
        .tooltip(dashboard.DashboardCursorSync.CROSSHAIR)
        .with_variable(build.DatasourceVariable("source").label("Prometheus").type("prometheus"))
        .with_variable(variable("instance", "Daemon", "optile_build_info"))
        .with_variable(variable("program", "Program", "optile_client_phase"))
    )
    for title, panels in (("Is it helping?", helping()), ("What does it cost?", costs()),
                          ("What is it doing?", doing()), ("Is the daemon well?", well())):
        made = made.with_row(build.Row(title))
        for panel in panels:
            made = made.with_panel(panel)
    return made.build()


if __name__ == "__main__":
    print(json.dumps(make(), cls=JSONEncoder, indent=2, sort_keys=True))
