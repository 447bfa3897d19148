"""Builds the sign-in services: accounts, sessions, tokens, and the check of the feed port's tokens."""

import time
from datetime import timedelta

from feedmill.adapters.identity.argon2 import AT_ONCE, Argon2Hasher
from feedmill.bootstrap.audit import open_auditing
from feedmill.bootstrap.context import AppContext, utc_now
from feedmill.bootstrap.signinproviders import make_directories
from feedmill.services.signin.accounts import AccountService, TokenService
from feedmill.services.signin.onetimecodes import OneTimeCodes
from feedmill.services.signin.passwordcheck import PasswordCheck, PasswordCheckDependencies
from feedmill.services.signin.passwordcheckcache import PasswordCheckCache
from feedmill.services.signin.pushcheck import PushCheck
from feedmill.services.signin.sessions import SessionLimits, SessionService
from feedmill.services.signin.signing import SignInServices
from feedmill.services.signin.throttle import Throttle, ThrottleLimits
from feedmill.services.signin.tokencheck import TokenCheck


def build_signing(context: AppContext) -> SignInServices:
    """Builds the sign-in services."""
    settings, hasher = context.settings.signin, Argon2Hasher(at_once=max(1, AT_ONCE // context.place.processes))
    auditing = open_auditing(context.data, context.settings)
    bounds = ThrottleLimits(by_both=settings.max_failures, window_seconds=settings.failure_minutes * 60.0)
    tools = PasswordCheckDependencies(
        store=context.store,
        hasher=hasher,
        throttle=Throttle(bounds, time.monotonic, context.counts("passwords")),
        clock=utc_now,
        record=auditing.record,
        directories=make_directories(settings),
    )
    check = PasswordCheck(tools)
    limits = SessionLimits(idle=timedelta(minutes=settings.idle_minutes), whole=timedelta(minutes=settings.session_minutes))
    return SignInServices(
        check=check,
        password_check_cache=PasswordCheckCache(check, context.store, time.monotonic),
        sessions=SessionService(context.store, utc_now, limits),
        token_check=TokenCheck(context.store, utc_now),
        accounts=AccountService(context.store, hasher, utc_now),
        tokens=TokenService(context.store, utc_now),
        auditing=auditing,
        one_time_codes=OneTimeCodes(context.store, utc_now),
        clock=utc_now,
    )


def build_push_check(context: AppContext, admin_token: str) -> PushCheck:
    """Builds the check of the feed port's tokens."""
    return PushCheck(context.store, utc_now, admin_token)
