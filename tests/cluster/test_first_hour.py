"""The first hour, typed as a person would: the screen at every step, from an empty laptop to a session."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.minicluster import Minicluster, retry_until
from tests.cluster.newcomer import PASSWORD, PASSWORD_PORT, Newcomer, password_door, steady
from tests.terminal import CTRL_C, ENTER, LARGE, SMALL, Terminal

SIZES = pytest.mark.parametrize(
    "size",
    [pytest.param(SMALL, id="80x24"), pytest.param(LARGE, id="120x40", marks=pytest.mark.slow)],
)
ANSWERS = "Save this? [Y]es, [c]hange a value, show the [d]iff, [n]o:"
CONNECTED = "✓ login: connected to `login` as alice"
REACHED = [
    CONNECTED,
    "✓ agent: runs on the cluster; removed again if you say no",
    "✓ slurm: answers; partitions debug, gpu",
    "✓ store: /home/alice/scratchflow (will be made)",
]
PROFILE = [
    "",
    "Profile `login`:",
    "partition debug Slurm's default; others: gpu",
    "time 00:10:00 the longest that `debug` allows; `gpu` allows 4h",
    "store ~/scratchflow in your home on the cluster, N GiB free; or",
    "/fsx/$USER/scratchflow, N GiB free",
    "scratch /scratch/$USER the nodes' own disk; checked on your first node",
    "workspace work your files, beneath scratch",
    "ssh alias compile_machine `ssh compile_machine` leads to your node",
    "",
    "It goes into ~/.config/scratchflow/config.toml. ~/.ssh/config gets three lines",
    "at its top, for the alias; `scratchflow setup --remove` takes them out.",
    ANSWERS,
]
SAVED = [
    "✓ profile: `login` in ~/.config/scratchflow/config.toml",
    "✓ alias: `ssh compile_machine` leads to your node, once you have one",
]


@pytest.fixture
def newcomer(minicluster: Minicluster, tmp_path: Path) -> Iterator[Newcomer]:
    laptop = Newcomer(tmp_path, minicluster)
    yield laptop
    laptop.leave()
    minicluster.free_nodes("alice")
    minicluster.login("sh", "-c", "rm -rf .local scratchflow .ssh/authorized_keys.was")
    for node in minicluster.node_states():
        minicluster.exec(node, "rm", "-rf", "/scratch/alice")


def save(terminal: Terminal) -> None:
    """Takes the proposal, and no node yet: Enter both times."""
    terminal.wait_for_question("Save this?")
    terminal.press(ENTER)
    terminal.wait_for_question("start working (`scratchflow up`)? [y/N]:")
    terminal.press(ENTER)


def in_order(rows: list[str]) -> list[str]:
    """What was looked at at once stands in the order in which it was there: the same, sorted."""
    return [*rows[:2], *sorted(rows[2 : len(REACHED)]), *rows[len(REACHED) :]]


def test_one_command_from_nothing_to_a_session(newcomer: Newcomer) -> None:
    with newcomer.types("up", "login") as terminal:
        rows = in_order(steady(terminal.wait_for_question("Save this?")))
        assert rows == [*REACHED, *PROFILE]
        assert newcomer.config == ""
        terminal.press(ENTER)
        assert terminal.end() == 0
        shown = in_order(steady(terminal.all_rows))
        assert shown[: len(REACHED + PROFILE + SAVED)] == [*REACHED, *PROFILE, *SAVED]
        text = "\n".join(shown)
    assert "node `node-N`, job N" in text
    assert "workspace `/scratch/alice/work`" in text
    # The partition gives ten minutes.
    assert "auto-backup before the time limit and when the job ends" in text
    assert "code --remote ssh-remote+compile_machine /scratch/alice/work" in text

    with newcomer.types("up", "login") as terminal:  # a second time: nothing is asked or made
        assert terminal.end() == 0
        again = "\n".join(terminal.all_rows)
    assert "Save this?" not in again
    assert "✓" not in again

    with newcomer.types("setup") as terminal:  # the same profile, set up again
        assert terminal.end() == 0
        assert terminal.all_rows[0] == CONNECTED
        assert terminal.all_rows[1] == "✓ agent: already there"
        assert terminal.all_rows[-1] == "Next: scratchflow up"
    assert "[profiles.login]" in newcomer.config


@pytest.mark.slow
def test_setup_ends_with_a_real_node_if_that_is_wanted(newcomer: Newcomer) -> None:
    with newcomer.types("setup", "login") as terminal:
        terminal.wait_for_question("Save this?")
        terminal.press(ENTER)
        terminal.wait_for_question("start working (`scratchflow up`)? [y/N]:")
        terminal.press(f"y{ENTER}")
        assert terminal.end() == 0
        text = "\n".join(steady(terminal.all_rows))
    assert "node `node-N`, job N" in text
    assert "code --remote ssh-remote+compile_machine /scratch/alice/work" in text
    assert "Next: scratchflow up" not in text
    with newcomer.types("setup", "--up") as terminal:  # asks nothing, and finds all of it there
        assert terminal.end() == 0
        assert "all is well" in terminal.text


def test_a_mistyped_host_is_recognised(newcomer: Newcomer) -> None:
    before = newcomer.files()
    with newcomer.types("up", "lgoin") as terminal:
        assert terminal.end() == 14
        assert terminal.all_rows == [
            "error: cannot find a host named `lgoin`; did you mean `login`?",
            "hint: hosts in your ssh config: login, closed",
        ]
    assert newcomer.files() == before


def test_a_host_that_does_not_answer_is_told(newcomer: Newcomer) -> None:
    before = newcomer.files()
    with newcomer.types("up", "closed") as terminal:
        assert terminal.end() == 14
        assert terminal.all_rows[0].startswith("error: no connection to `closed`:")
        assert terminal.all_rows[1] == "hint: check network and VPN; `ssh closed` shows more"
    assert newcomer.files() == before


@SIZES
def test_an_unknown_host_key_is_explained_and_asked_by_ssh(
    newcomer: Newcomer, size: tuple[int, int]
) -> None:
    (newcomer.ssh / "known_hosts").unlink()
    with newcomer.types("up", "login", size=size) as terminal:
        rows = terminal.wait_for_question("continue connecting")
        assert rows[0].startswith("This machine has not met `login` before")
        terminal.press(f"no{ENTER}")
        assert terminal.end() == 13
    with newcomer.types("setup", "login", size=size) as terminal:
        terminal.wait_for_question("continue connecting")
        terminal.press(f"yes{ENTER}")
        assert CONNECTED in terminal.wait_for_question("Save this?")
        save(terminal)
        assert terminal.end() == 0
    assert (newcomer.ssh / "known_hosts").exists()


@SIZES
def test_without_a_key_one_is_made_and_shown(newcomer: Newcomer, size: tuple[int, int]) -> None:
    newcomer.take_key()
    with newcomer.types("setup", "login", size=size) as terminal:
        terminal.wait_for_question("no passphrase)? [Y/n]:")
        assert any("✗ login: `login` accepts none of your ssh keys" in row for row in terminal.rows)
        terminal.press(ENTER)
        terminal.wait_for_question("Press Enter when the cluster has it:")
        public = newcomer.key.with_name("id_ed25519.pub").read_text().strip()
        assert public in "".join(terminal.all_rows)
        assert newcomer.key.stat().st_mode & 0o777 == 0o600
        newcomer.give_key()  # as if the cluster knew the new one
        terminal.press(ENTER)
        terminal.wait_for_question("Save this?")
        terminal.press(f"n{ENTER}")
        assert terminal.end() == 2
    assert newcomer.config == ""


def test_without_a_key_and_without_a_terminal_the_hint_is_one_that_helps(
    newcomer: Newcomer,
) -> None:
    newcomer.take_key()
    refused = newcomer.run("setup", "login", "--yes")
    assert refused.returncode == 12
    assert "accepts none of your ssh keys" in refused.stderr
    assert "ssh-copy-id login" in refused.stderr


def test_a_password_that_nobody_can_type_is_asked_for_in_a_terminal(
    newcomer: Newcomer, minicluster: Minicluster
) -> None:
    newcomer.take_key()
    newcomer.write_config(port=PASSWORD_PORT)
    with password_door(minicluster):
        refused = newcomer.run("setup", "login", "--yes")
    assert refused.returncode == 12
    assert "run `scratchflow setup login` in a terminal" in refused.stderr


def test_after_a_password_the_key_is_sent_and_loose_modes_are_mended(
    newcomer: Newcomer, minicluster: Minicluster
) -> None:
    newcomer.take_key()
    newcomer.write_config(port=PASSWORD_PORT)
    home = minicluster.state / "shared/home/alice"
    known = (home / ".ssh/authorized_keys").read_bytes()
    home.chmod(0o777)
    try:
        with password_door(minicluster), newcomer.types("setup", "login") as terminal:
            terminal.wait_for_question("password:")
            terminal.press(f"{PASSWORD}{ENTER}")
            terminal.wait_for_question("Log in with a key from now on? [Y/n]:")
            terminal.press(ENTER)
            terminal.wait_for_question("no passphrase)? [Y/n]:")
            terminal.press(ENTER)
            terminal.wait_for_question("(`chmod go-w`)? [Y/n]:")
            assert any("others may write to /home/alice." in row for row in terminal.rows)
            terminal.press(ENTER)
            assert "✓ key: accepted" in terminal.wait_for_question("Save this?")
            save(terminal)
            assert terminal.end() == 0
        assert home.stat().st_mode & 0o777 == 0o755
        public = newcomer.key.with_name("id_ed25519.pub").read_bytes()
        assert (home / ".ssh/authorized_keys").read_bytes() == known + public
    finally:
        (home / ".ssh/authorized_keys").write_bytes(known)
        home.chmod(0o700)


@SIZES
@pytest.mark.parametrize(
    "store",
    [
        pytest.param("/root/store", id="no permission"),
        pytest.param("/proc/store", id="no place", marks=pytest.mark.slow),
    ],
)
def test_a_store_that_cannot_be_used_is_asked_for_again(
    newcomer: Newcomer, size: tuple[int, int], store: str
) -> None:
    with newcomer.types("setup", "login", "--store", store, size=size) as terminal:
        terminal.wait_for_question("store [~/scratchflow]:")
        assert any(
            row.startswith("✗ store: ") and store.split("/")[1] in row for row in terminal.rows
        )
        terminal.press(f"relative{ENTER}")
        terminal.wait_for("must be an absolute path")
        terminal.wait_for_question("store [~/scratchflow]:")
        terminal.press(ENTER)
        save(terminal)
        assert terminal.end() == 0
    assert 'store = "~/scratchflow"' in newcomer.config


def test_a_store_that_cannot_be_used_fails_where_nobody_can_be_asked(newcomer: Newcomer) -> None:
    before = newcomer.files()
    refused = newcomer.run("setup", "login", "--store", "/root/store", "--time", "5:00:00", "--yes")
    assert refused.returncode == 10
    said = refused.stderr.splitlines()
    assert "  fix: `--time 00:10:00`" in said
    assert "`scratchflow setup login --time TIME --store PATH`" in said[-1]
    assert newcomer.files() == before


@pytest.mark.slow
def test_a_host_without_slurm_is_told_as_that(newcomer: Newcomer, minicluster: Minicluster) -> None:
    before = newcomer.files()
    minicluster.exec("login", "scontrol", "shutdown", "slurmctld")
    try:
        refused = newcomer.run("setup", "login", "--yes")
    finally:
        minicluster.run("up")
    assert refused.returncode == 20, refused
    assert "✗ slurm: " in refused.stderr
    assert newcomer.files() == before


def test_an_address_becomes_a_profile_with_slurms_name_and_a_tilde_that_the_shell_wrote_out_means_the_clusters_home(
    newcomer: Newcomer,
) -> None:
    config = newcomer.ssh / "config"
    config.write_text(config.read_text().replace("Host login", f"Host {newcomer.cluster.address}"))
    login, store = f"alice@{newcomer.cluster.address}", f"{newcomer.home}/sf"
    done = newcomer.run("setup", login, "--store", store, "--yes")
    assert done.returncode == 0, done
    assert "[profiles.mini]" in newcomer.config
    assert 'store = "~/sf"' in newcomer.config
    assert "✓ store: /home/alice/sf (will be made)" in done.stderr


@SIZES
def test_ctrl_c_half_way_leaves_nothing_and_the_next_time_works(
    newcomer: Newcomer, size: tuple[int, int]
) -> None:
    before = newcomer.files()
    with newcomer.types("up", "login", size=size) as terminal:
        terminal.wait_for_question("Save this?")
        assert newcomer.on_cluster() != ""
        terminal.press(CTRL_C)
        assert terminal.end() == 130
        assert "Cancelled." in terminal.rows
    assert newcomer.files() == before
    assert newcomer.on_cluster() == ""
    with newcomer.types("setup", "login", size=size) as terminal:
        save(terminal)
        assert terminal.end() == 0


def test_a_no_leaves_nothing_on_the_cluster_either(newcomer: Newcomer) -> None:
    before = newcomer.files()
    with newcomer.types("up", "login") as terminal:
        terminal.wait_for_question("Save this?")
        terminal.press(f"n{ENTER}")
        assert terminal.end() == 2
        assert terminal.rows[-2:] == ["the agent is gone from `login` again", "nothing was saved"]
    assert newcomer.files() == before
    assert newcomer.on_cluster() == ""


@pytest.mark.slow
def test_a_no_leaves_an_agent_that_was_there_before(newcomer: Newcomer) -> None:
    assert newcomer.run("setup", "login", "--yes").returncode == 0
    there = newcomer.on_cluster()
    with newcomer.types("setup", "login", "--name", "second") as terminal:
        terminal.wait_for_question("Save this?")
        terminal.press(f"n{ENTER}")
        assert terminal.end() == 2
    assert newcomer.on_cluster() == there != ""


@pytest.mark.slow
def test_in_a_large_terminal_too_a_value_can_be_changed_and_the_diff_shown(
    newcomer: Newcomer,
) -> None:
    with newcomer.types("setup", "login", size=LARGE) as terminal:
        rows = terminal.wait_for_question("Save this?")
        assert in_order(steady(rows))[: len(REACHED)] == REACHED
        assert any("leads to your node" in row for row in rows)
        terminal.press(f"d{ENTER}")
        terminal.wait_for('+Include "')
        terminal.wait_for_question("Save this?")
        terminal.press(f"c{ENTER}")
        answers = {"partition": "gpu", "time": "", "store": "/fsx/$USER/s", "scratch": ""}
        for label, answer in {**answers, "workspace": "", "ssh alias": "node"}.items():
            terminal.wait_for_question(f"{label} [")
            terminal.press(f"{answer}{ENTER}")
        terminal.wait_for("your choice")
        save(terminal)
        assert terminal.end() == 0
        assert terminal.all_rows[-1] == "Next: scratchflow up"
    assert 'partition = "gpu"' in newcomer.config
    assert 'store = "/fsx/$USER/s"' in newcomer.config
    assert 'alias = "node"' in newcomer.config


@pytest.mark.slow
def test_a_second_profile_has_its_own_alias_and_directory_and_is_not_the_default(
    newcomer: Newcomer,
) -> None:
    assert newcomer.run("setup", "login", "--yes").returncode == 0
    done = newcomer.run("setup", "login", "--name", "gpu", "--partition", "gpu", "--yes")
    assert done.stdout.splitlines() == [
        "shared with profile `login`: the agent; the store `~/scratchflow`",
        "the default profile stays `login`",
        "Next: scratchflow up -p gpu",
    ]
    assert 'default_profile = "login"' in newcomer.config
    assert 'alias = "compile_machine_gpu"' in newcomer.config
    assert 'workspace = "work_gpu"' in newcomer.config


@pytest.mark.slow
def test_a_profile_added_by_hand_works_without_another_setup(newcomer: Newcomer) -> None:
    assert newcomer.run("setup", "login", "--yes").returncode == 0
    config = newcomer.home / ".config/scratchflow/config.toml"
    profile = '[profiles.hand]\nlogin = "login"\nalias = "by_hand"\nworkspace = "hand"\n'
    config.write_text(f'{newcomer.config}\n{profile}slurm = {{ time = "5:00" }}\n')
    done = newcomer.run("up", "-p", "hand")
    assert done.returncode == 0, done
    assert "ssh-remote+by_hand" in done.stdout
    assert newcomer.run("clear", "-p", "hand").returncode == 0


def test_remove_says_what_it_left_and_status_does_not_bring_the_agent_back(
    newcomer: Newcomer, minicluster: Minicluster
) -> None:
    assert newcomer.run("up", "login", "--yes").returncode == 0
    assert newcomer.run("clear").returncode == 0
    # A workspace that no profile names.
    manifest = "scratchflow/p2/20261115T195140Z-570643.json"
    minicluster.login("sh", "-c", f"mkdir -p scratchflow/p2/nodes; touch {manifest}")
    with newcomer.types("setup", "--remove") as terminal:
        rows = terminal.wait_for_question("Remove this? [y/N]:")
        assert rows[-5:-1] == [
            "This removes:",
            "  our lines from ~/.ssh/config",
            "  the ssh alias `compile_machine`",
            "  the agent and our notes on `login`",
        ]
        terminal.press(f"y{ENTER}")
        assert terminal.end() == 0
        text = terminal.text
    assert "✓ removed the agent and our notes on `login`" in text
    assert "the profile `login` in" in text
    assert "1 snapshot in ~/scratchflow/work on `login`" in text
    assert "`ssh login 'rm -rf ~/scratchflow/work'`" in text
    assert "1 snapshot in ~/scratchflow/p2 on `login`" in text
    assert "`ssh login 'rm -rf ~/scratchflow/p2'`" in text
    assert "copies of the workspace and our notes on the scratch of node-" in text
    assert "`rm -rf /scratch/$USER/work /scratch/$USER/.scratchflow` in a job on each" in text
    assert "notes and caches, with nothing of yours:" in text
    assert "uninstall scratchflow" in text
    refused = newcomer.run("status")
    assert refused.returncode == 10
    assert "`scratchflow setup -p login` sets it up" in refused.stderr
    assert minicluster.login("ls", "-A", ".local/share/scratchflow", check=False).stdout == ""
    with newcomer.types("up") as terminal:  # in a terminal it offers to set it up again
        terminal.wait_for_question("Save this?")
        terminal.press(f"n{ENTER}")
        assert terminal.end() == 2


@pytest.mark.slow
def test_a_dry_run_of_up_shows_the_set_up_and_what_comes_after_it(newcomer: Newcomer) -> None:
    before = newcomer.files()
    with newcomer.types("up", "login", "--dry-run", "--cpus", "2") as terminal:
        assert terminal.end() == 0
        rows = steady(terminal.all_rows)
        text = "".join(terminal.all_rows)
    assert rows[0] == CONNECTED
    assert rows[1] == "✓ agent: runs on the cluster; removed again after this dry run"
    for row in ("partition debug Slurm's default; others: gpu", *REACHED[2:]):
        assert row in rows
    assert "the agent is gone from `login` again" in rows
    assert "would set up `login` with these values" in text
    assert "would run: salloc" in text
    assert "--cpus-per-task=2" in text
    assert newcomer.files() == before
    assert newcomer.on_cluster() == ""


@pytest.mark.slow
def test_remove_finds_an_agent_that_a_killed_setup_left(newcomer: Newcomer) -> None:
    """No profile was written: only the host can say that something is there."""
    with newcomer.types("setup", "login") as terminal:
        terminal.wait_for_question("Save this?")  # and then the terminal is closed with a kill
    assert newcomer.on_cluster() != ""
    with newcomer.types("setup", "login", "--remove") as terminal:
        terminal.wait_for_question("Remove this? [y/N]:")
        terminal.press(f"y{ENTER}")
        assert terminal.end() == 0
        assert "✓ removed the agent and our notes on `login`" in terminal.text
    assert newcomer.on_cluster() == ""
    again = newcomer.run("setup", "login", "--remove", "--yes")
    assert again.stdout.startswith("nothing of ours was there to remove\n"), again


def test_a_submitted_job_that_waits_during_a_removal_runs_all_the_same(
    newcomer: Newcomer, minicluster: Minicluster
) -> None:
    assert newcomer.run("up", "login", "--yes").returncode == 0
    submitted = newcomer.run("submit", "--sbatch", "--hold", "--json", "--", "true")
    number = str(json.loads(submitted.stdout.splitlines()[-1])["data"]["number"])
    assert newcomer.run("clear").returncode == 0
    done = newcomer.run("setup", "--remove", "--yes")
    assert done.returncode == 0, done
    assert f"job {number} uses it when it starts" in " ".join(done.stdout.split())
    assert f"`ssh login scancel {number}`" in done.stdout
    assert "removed the agent" not in done.stdout
    minicluster.login("scontrol", "release", number)
    asked = ["squeue", "--noheader", "--states=all", "--format=%T", f"--jobs={number}"]
    ends = {"COMPLETED", "FAILED"}
    retry_until(lambda: minicluster.login(*asked).stdout.strip() in ends, "the job ends")
    assert minicluster.login(*asked).stdout.strip() == "COMPLETED"
    again = newcomer.run("setup", "--remove", "--yes")
    assert "✓ removed the agent and our notes on `login`" in again.stdout


def test_a_scratch_that_the_node_does_not_have_is_told_with_what_it_has(
    newcomer: Newcomer,
) -> None:
    refused = newcomer.run("up", "login", "--yes", "--set", "scratch=/nosuch/$USER")
    assert refused.returncode == 10, refused
    assert "scratch `/nosuch/alice` cannot be used on `node-" in refused.stderr
    assert "usable there: /scratch/$USER" in refused.stderr
    assert newcomer.run("up").returncode == 0  # the same node, with the profile's own scratch


@pytest.mark.slow
def test_killed_at_any_step_the_next_setup_finishes(newcomer: Newcomer) -> None:
    """Each time one event later, until it was not killed any more."""
    before = (newcomer.ssh / "config").read_bytes()
    steps = 0
    while newcomer.killed_after(steps, "setup", "login", "--yes", "--json"):
        steps += 1
        resolved = newcomer.run_ssh("-G", "compile_machine")
        assert resolved.returncode == 0, resolved
    assert steps > 5
    done = newcomer.run("setup", "login", "--yes")
    assert done.stdout == "Next: scratchflow up\n", done
    assert newcomer.run("setup", "--remove", "--yes").returncode == 0
    assert (newcomer.ssh / "config").read_bytes() == before
