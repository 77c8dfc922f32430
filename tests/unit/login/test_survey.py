"""What the login host offers, looked at without changing anything."""

from __future__ import annotations

from pathlib import Path

from scratchflow.cluster.slurm.node_text import shown_settings
from scratchflow.login.survey import store_candidates


def test_the_users_own_directory_is_found_wherever_a_site_puts_it(tmp_path: Path) -> None:
    for made in ("a/users/alice", "b/alice", "c"):
        (tmp_path / made).mkdir(parents=True)
    roots = [str(tmp_path / name) for name in ("a", "b", "c", "missing")]
    found = list(store_candidates(roots, {"USER": "alice", "HOME": "/home/alice"}))
    assert found == [
        f"{roots[0]}/users/$USER/scratchflow",
        f"{roots[1]}/$USER/scratchflow",
        f"{roots[2]}/$USER/scratchflow",
    ]


def test_slurms_own_settings_are_read_by_key() -> None:
    text = "Configuration data as of 2026\nClusterName             = mini\nTmpFS = /local=x\n\n"
    found = shown_settings(text)
    assert (found["ClusterName"], found["TmpFS"]) == ("mini", "/local=x")
