"""What unison is started with."""

from __future__ import annotations

import pytest

from scratchflow.cluster.unison.command import (
    Homes,
    Rules,
    client_words,
    outermost,
    refused_option,
    server_words,
)

HOMES = Homes(program="/usr/bin/unison", home="/home/a", other="aws", other_home="/home/b")


def _values(words: list[str], option: str) -> list[str]:
    return [words[place + 1] for place, word in enumerate(words) if word == option]


def _words(folders: list[str], **more: object) -> list[str]:
    rules = Rules(folders=folders, leave_out=[".ssh", "a/b"], keep_versions=7, **more)  # type: ignore[arg-type]  # by name
    return client_words(HOMES, rules)


def test_the_other_home_is_named_by_its_profile() -> None:
    assert _words(["p"])[:4] == ["/usr/bin/unison", "scratchflow", "/home/a", "ssh://aws//home/b"]


def test_a_folder_beneath_another_is_not_named_twice() -> None:
    assert _values(_words(["p/q", "p", "pq"]), "-path") == ["p", "pq"]


def test_the_whole_home_is_no_path() -> None:
    assert _values(_words([".", "p"]), "-path") == []


def test_our_own_directories_scratch_and_the_store_never_sync() -> None:
    ignored = _values(_words(["."], never=["scr{atch"]), "-ignore")
    for path in (".unison", ".local/share/scratchflow", "scr\\{atch"):
        assert f"Path {path}" in ignored


def test_what_is_left_out_is_a_name_anywhere_or_a_path() -> None:
    ignored = _values(_words(["p"]), "-ignore")
    assert {"Name .ssh", "Path a/b"} <= set(ignored)


def test_what_is_replaced_is_kept() -> None:
    words = _words(["p"])
    assert _values(words, "-backup") == ["Name *"]
    assert _values(words, "-maxbackups") == ["7"]


def test_the_other_unison_is_started_with_what_the_first_asks_for() -> None:
    asked = ["aws", "-e", "none", "unison", "-server", "__new-rpc-mode"]
    assert server_words("/opt/unison", asked) == ["/opt/unison", "-server", "__new-rpc-mode"]


@pytest.mark.parametrize(
    "option",
    ["-batch", "-batch=true", "--ui", "-sshcmd", "-force", "-repeat", "-version", "-testserver"],
)
def test_what_would_take_the_questions_from_us_or_not_sync_at_all_is_refused(option: str) -> None:
    assert refused_option(["-ignore", "Name x", option]) == option


def test_other_options_pass() -> None:
    assert refused_option(["-fastcheck", "false", "-ignorearchives"]) == ""


def test_what_lies_beneath_another_folder_is_not_named() -> None:
    assert outermost(["a/b", "ab", "a", "c/d", "a/b/c", "a"]) == ["ab", "a", "c/d"]
    assert outermost(["a", "."]) == []


def test_many_paths_are_not_compared_each_with_each() -> None:
    many = [f"{number}/file" for number in range(50_000)]
    assert outermost(many) == many
