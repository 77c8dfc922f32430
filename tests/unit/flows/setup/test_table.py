"""The proposed profile as a table: nothing is cut, no word broken, nothing said to the terminal itself."""

from __future__ import annotations

from scratchflow.config.sites import GENERIC, site_named
from scratchflow.flows.setup.propose import LABELS, propose
from scratchflow.flows.setup.table import proposal_lines, wrapped
from scratchflow.model.results.setup import SetupValue
from tests.unit.flows.setup.test_propose import FSX, HOME, WORK, cluster


def test_the_table_fits_the_terminal_and_breaks_no_word() -> None:
    seen, site = cluster(stores=[HOME, FSX]), site_named(GENERIC)
    values = propose(seen, {}, alias="compile_machine_gpu", workspace=WORK, site=site)
    lines = list(proposal_lines("uni", values, columns=80))
    assert all(len(line) < 80 for line in lines)
    text = " ".join(" ".join(lines).split())
    for one in values:
        assert f"{LABELS[one.key]} {one.value} {one.reason}" in text
    assert all(len(line) < 80 for line in wrapped("word " * 60, columns=80))


def test_a_time_without_a_unit_is_shown_with_the_one_that_it_means() -> None:
    values = [SetupValue(key="slurm.time", value="30", reason="your choice")]
    _, line = proposal_lines("uni", values, columns=80)
    assert "30 min  your choice" in line


def test_a_reason_goes_on_beneath_itself() -> None:
    values = [SetupValue(key="store", value="/s", reason="because " * 10)]
    _, first, *more = proposal_lines("uni", values, columns=60)
    column = first.index("because")
    assert more
    assert all(line.index("because") == column for line in more)


def test_a_terminal_too_narrow_for_reasons_still_gets_every_word() -> None:
    values = [SetupValue(key="store", value="/a/long/path/of/a/store", reason="word " * 30)]
    lines = list(proposal_lines("uni", values, columns=1))
    assert " ".join(lines).split().count("word") == 30
    assert "".join(wrapped("/a/path/that/is/longer/than/twenty", columns=1)).startswith("/a/path")


def test_a_path_in_a_reason_stays_one_word() -> None:
    path = "/a/path/that/is/much/longer/than/the/room/for/reasons"
    lines = list(proposal_lines("u", [SetupValue(key="k", value="v", reason=path)], columns=40))
    assert any(line.endswith(path) for line in lines)


def test_what_a_cluster_says_cannot_steer_the_terminal() -> None:
    values = [SetupValue(key="store", value="/s\x1b[2J", reason="free\x07")]
    text = "\n".join(proposal_lines("uni\x1b]0;x", values, columns=80))
    assert not {"\x1b", "\x07"} & set(text)


def test_no_values_are_a_title_alone() -> None:
    assert list(proposal_lines("uni", [], columns=80)) == ["Profile `uni`:"]
