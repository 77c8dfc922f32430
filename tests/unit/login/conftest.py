"""A login host that looks at a desk's store, without a job and with one."""

from __future__ import annotations

import msgspec
import pytest

from tests.unit.conftest import Desk
from tests.unit.login.status.test_status import NODE, Login


@pytest.fixture
def login(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Login:
    desk.backup()
    return Login(desk, monkeypatch)


@pytest.fixture
def held(login: Login) -> Login:
    node = msgspec.structs.replace(login.desk.context, node=NODE, job_id=7)
    login.desk.write("work/more")
    Desk(node).backup()
    login.hold()
    return login
