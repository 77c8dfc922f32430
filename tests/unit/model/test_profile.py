"""A profile holds only what is safe to use: paths stay where they belong, names are names."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from scratchflow.model.profile import (
    Config,
    EnvironmentOptions,
    Profile,
    SlurmOptions,
    decode_duration,
    to_plain,
    to_plain_with_nulls,
)
from scratchflow.model.units import Duration


def read(values: dict[str, Any]) -> Profile:
    return msgspec.convert(values, Profile, dec_hook=decode_duration)


def test_a_profile_written_out_is_read_back_equal() -> None:
    options = SlurmOptions(gpus=2, extra=["--x"], time="2-12")
    profile = Profile(login="ada@login", wait=Duration(90), slurm=options)
    assert read(to_plain(profile)) == profile
    assert "cpus_per_task" not in to_plain(profile)["slurm"]
    assert to_plain_with_nulls(profile)["slurm"]["cpus_per_task"] is None


@pytest.mark.parametrize("path", ["", ".", "..", "a/../b", "/work", "a//b", "a/", "./a"])
def test_no_workspace_and_no_directory_beside_it_leaves_scratch(path: str) -> None:
    with pytest.raises(msgspec.ValidationError, match="beneath scratch"):
        read({"workspace": path})
    with pytest.raises(msgspec.ValidationError, match="beneath scratch"):
        read({"backup": {"also": ["env", path]}})


@pytest.mark.parametrize(
    "path", ["", "work", "./a", "~other/a", "$PWD/a", "${OLDPWD}/a", "$USER/a"]
)
def test_a_path_that_depends_on_where_we_are_is_refused(path: str) -> None:
    for key in ("scratch", "store"):
        with pytest.raises(msgspec.ValidationError, match=f"`{key}`"):
            read({key: path})


@pytest.mark.parametrize(
    "path", ["/fsx/$USER", "~", "~/a", "$HOME/a", "${HOME}/${USER}", "$PROJECT", "${SCRATCH}/a"]
)
def test_names_of_the_cluster_may_stand_in_a_path(path: str) -> None:
    assert read({"store": path}).store == path


@pytest.mark.parametrize("path", ["/a/$(id)", "/a/${X:-y}", "/a/$1", "/a/${}", "/a/$", "$/a"])
def test_nothing_but_a_name_may_follow_the_dollar(path: str) -> None:
    with pytest.raises(msgspec.ValidationError, match="only a name"):
        read({"store": path})


@pytest.mark.parametrize("login", ["-oProxyCommand=x", "a b", "a\n", "", "a@b@c", "@a", "é"])
def test_a_login_host_is_never_an_option_or_a_line(login: str) -> None:
    with pytest.raises(msgspec.ValidationError, match="`login`"):
        read({"login": login})


@pytest.mark.parametrize("name", ["A=B", "1A", "", "A B", "A\n", "Ä"])
def test_a_variables_name_is_one(name: str) -> None:
    with pytest.raises(ValueError, match="not a variable name"):
        EnvironmentOptions(variables={name: "x"})


def test_a_time_may_be_written_as_on_the_command_line() -> None:
    options = SlurmOptions(time="10m")
    assert options.time == "00:10:00"
    assert to_plain(options)["time"] == "00:10:00"


@pytest.mark.parametrize("time", ["soon", "1:2:3:4", "-5", "5;id", "1-", "8:00:00\n"])
def test_a_time_that_nobody_can_read_is_refused(time: str) -> None:
    with pytest.raises(ValueError, match="Slurm's own"):
        SlurmOptions(time=time)


def test_what_nobody_knows_is_refused_and_durations_are_text() -> None:
    with pytest.raises(msgspec.ValidationError, match="unknown field"):
        read({"logn": "x"})
    with pytest.raises(msgspec.ValidationError, match="in quotes"):
        read({"wait": 30})
    with pytest.raises(msgspec.ValidationError, match="profiles"):
        msgspec.convert({"profiles": {"a\n": {}}}, Config)


@pytest.mark.parametrize(
    "mirror",
    [":sftp,host=x,pass=abc:y", ":s3,secret_access_key=abc:y", "-x:y", "here", "a:\nb"],
)
def test_a_mirror_is_a_remote_without_a_secret(mirror: str) -> None:
    with pytest.raises(msgspec.ValidationError, match="`mirror`"):
        read({"backup": {"mirror": mirror}})


@pytest.mark.parametrize(
    "mirror",
    [
        ":sftp,host=x,pass=SEC:y",
        ":s3,access_key_id=a,secret_access_key=SEC:y",
        ":s3,sse_customer_key_base64=SEC:y",
        ":webdav,bearer_token=SEC:y",
        ":drive,token=SEC:y",
        ":drive,service_account_credentials=SEC:y",
        ":swift,user=me,credential=SEC:y",
        ":sftp,key_pem=SEC:y",
        ":sftp,key_file=/k,key_file_pass=SEC:y",
        ':webdav,url="http://u:SEC@127.0.0.1:8098/":m',
        ":webdav,url=http://u:SEC@h/x:m",
        ':webdav,url="http://u:a,b=SEC@h/x":m',
        ':webdav,url="http://u:a,SEC@h/x":m',
        ":http,url=https\\://u\\:SEC@h:y",
        "sftp://u:SEC@host/x",
        ":b2,account=a,key=SEC:y",
        ":swift,KEY=SEC:y",
        ":azureblob,account=a, key = SEC:y",
        ':azureblob,account=a,sas_url="https://h/c?x=1&sig=SEC":c',
        ':azureblob,account=a,url="https://h/c?sig=SEC":c',
        ":azurefiles,connection_string=SEC:y",
        ":storj,access_grant=SEC:y",
        ":storj,api_key=SEC:y",
        ":mega,2fa=SEC:y",
        'dav,headers="Cookie,SEC":y',
        "box,override.key=SEC:y",
    ],
)
def test_a_secret_in_a_mirror_is_refused_in_every_spelling_and_not_shown(mirror: str) -> None:
    with pytest.raises(msgspec.ValidationError, match="rclone's own configuration") as caught:
        read({"backup": {"mirror": mirror}})
    assert "SEC" not in str(caught.value)


@pytest.mark.parametrize(
    "mirror",
    [
        "box:a/b",
        "/mnt/usb",
        ":sftp,host=x,key_file=/k:y",
        ":sftp,host=x,user=u,pubkey_file=/k,known_hosts_file=/h,key_use_agent=true:/a@b",
        ':webdav,url="http://u@127.0.0.1:8098/",vendor=other:m',
        ":s3,provider=AWS,env_auth=true,access_key_id=a,sse_kms_key_id=b,shared_credentials_file=/c:bucket",
        ":webdav,url=http://h:80,user=a@b.example:m",
        ":storj,satellite_address=us1.storj.io:y",
        ":azureblob,account=a,env_auth=true:container/keys",
    ],
)
def test_other_mirrors_are_taken(mirror: str) -> None:
    assert read({"backup": {"mirror": mirror}}).backup.mirror == mirror
