"""Names for ssh are allowed by a list: nothing that ssh, a shell or a resolver would act on passes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scratchflow.ssh.config.names import (
    is_host,
    is_login,
    is_name,
    is_node,
    is_port,
    is_quotable,
    is_user,
)

ALL = [is_name, is_node, is_user, is_login, is_host]


@pytest.mark.parametrize("check", ALL, ids=lambda check: check.__name__)
@given(word=st.text(st.sampled_from("aZ0._-@:%+ \t\n\r\"'`\\$*?!,;#=/{}[]()<>|&~é\0"), max_size=8))
def test_what_a_shell_or_a_config_would_act_on_never_passes(
    check: Callable[[str], bool], word: str
) -> None:
    if check(word):
        assert word.isascii()
        assert not word.startswith("-")
        assert not set(word) & set(" \t\n\r\"'`\\$*?!,;#=/{}[]()<>|&~\0")


@pytest.mark.parametrize("check", ALL, ids=lambda check: check.__name__)
def test_a_line_break_at_the_end_is_seen_and_nothing_is_no_name(
    check: Callable[[str], bool],
) -> None:
    assert check("node-1")
    assert not check("node-1\n")
    assert not check("")


@pytest.mark.parametrize(
    ("node", "is_one"),
    [
        ("gpu-a.cluster.local", True),
        ("10.0.0.5", True),
        ("10.0.0.05", False),
        ("10.1", False),
        ("0x7f.1", False),
        ("7", False),
        ("7a", True),
        ("256.1.1.1", False),
        ("n" * 128, True),
        ("n" * 129, False),
    ],
)
def test_a_node_is_a_name_or_an_address_in_full(node: str, is_one: bool) -> None:
    assert is_node(node) is is_one


@pytest.mark.parametrize("word", ["none", "None", "NONE"])
def test_the_word_that_means_no_login_host_is_none(word: str) -> None:
    assert not is_login(word)
    assert is_login(f"{word}-such")


@pytest.mark.parametrize(("port", "is_one"), [(0, False), (1, True), (65535, True), (65536, False)])
def test_ports_end_where_tcp_does(port: int, is_one: bool) -> None:
    assert is_port(port) is is_one


def test_a_path_may_hold_spaces_and_letters_but_nothing_that_ssh_expands() -> None:
    assert is_quotable("/home/ada/with space é/config")
    assert not any(is_quotable(f"/a{letter}b") for letter in '"\\*?[]%$\n\x7f\0\x1b')
    assert not is_quotable("")
