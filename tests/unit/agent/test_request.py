"""A request is complete, bounded, and refused when it is anything else."""

from __future__ import annotations

import os

import pytest

from scratchflow import __version__
from scratchflow.agent.request import asking, decode, encode, typed_arguments
from scratchflow.config.settings import given_settings
from scratchflow.model.errors.agent import RequestRefused
from scratchflow.model.errors.base import UsageInvalid
from scratchflow.model.errors.config import ConfigBadValue, ConfigUnknownKey
from scratchflow.model.profile import Profile, to_plain
from scratchflow.model.requests import Arguments


class Wanted(Arguments, frozen=True):
    depth: int = 1


def test_a_request_arrives_as_it_was_sent() -> None:
    request = asking(
        "backup",
        {"message": "two\nlines; $(touch x) '\""},
        profile_name="aws",
        profile=to_plain(Profile()),
        verbose=True,
    )
    line = encode(request)
    assert line.count(b"\n") == 1
    assert decode(line) == request
    assert (request.version, request.hold_stdin) == (__version__, True)


def test_the_profile_arrives_equal() -> None:
    profile = Profile(login="x", store="/fsx/$USER")
    request = decode(encode(asking("backup", {}, profile_name="p", profile=to_plain(profile))))
    assert given_settings("p", request.profile, "the request").profile == profile


@pytest.mark.parametrize(
    "profile",
    [{"login": "-oProxyCommand=x"}, {"store": "/x\ny"}, {"slurm": {"partition": "a\x1b"}}],
    ids=str,
)
def test_a_hostile_profile_is_refused_as_a_file_would_be(profile: dict[str, object]) -> None:
    with pytest.raises(ConfigBadValue):
        given_settings("p", profile, "the request")


def test_an_unknown_key_of_a_profile_is_refused() -> None:
    with pytest.raises(ConfigUnknownKey):
        given_settings("p", {"loginn": "x"}, "the request")


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"[]",
        b"null",
        b"{}",
        b"GET / HTTP/1.1",
        b"\xff\xfe",
        b'{"v":1}',
        b'{"v":1,"version":"1","do":"x","extra":1}',
        b'{"v":1,"version":"1","do":"../x"}',
        b'{"v":1,"version":"1","do":"x\\n"}',
        b'{"v":1,"version":"1","do":"' + b"x" * 65 + b'"}',
        b'{"v":1,"version":"1","do":"x","arguments":[]}',
        b'{"v":1,"version":"1","do":"x","profile_name":"a/b"}',
        b'{"v":2,"version":"1","do":"x"}',
        b'{"v":' + b"9" * 400 + b"}",
        b'{"v":' + b"9" * 9000 + b"}",
        b"[" * 200_000,
        b'{"arguments":' * 20_000,
    ],
    ids=lambda line: line[:40].decode("latin1"),
)
def test_what_is_no_request_is_refused(line: bytes) -> None:
    with pytest.raises(RequestRefused):
        decode(line)


def test_an_unknown_argument_is_refused_not_passed_over() -> None:
    request = asking("x", {"depth": 2, "dry_run": True}, profile_name="p", profile={})
    with pytest.raises(RequestRefused, match="dry_run"):
        typed_arguments(request, Wanted)


def test_an_argument_of_the_wrong_type_is_refused() -> None:
    with pytest.raises(RequestRefused, match="depth"):
        typed_arguments(asking("x", {"depth": "2"}, profile_name="p", profile={}), Wanted)


def test_a_request_that_cannot_travel_is_refused_before_it_does() -> None:
    with pytest.raises(UsageInvalid, match="not UTF-8 cannot be sent"):
        encode(asking("x", {"path": os.fsdecode(b"\xe9")}, profile_name="p", profile={}))
    with pytest.raises(RequestRefused, match="1 MiB"):
        encode(asking("x", {"path": "a" * (1 << 20)}, profile_name="p", profile={}))
