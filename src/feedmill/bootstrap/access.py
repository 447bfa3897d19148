"""Builds the services that explain, list and review access to documents, and puts the policy ACLs of the settings in force."""

from datetime import timedelta
from functools import partial

from feedmill.bootstrap.context import AppContext, utc_now
from feedmill.bootstrap.feeds import build_groups_reader
from feedmill.model.policyacl import EarlyMechanism
from feedmill.services.access.accessreview import AccessReview
from feedmill.services.access.explaining import Explaining
from feedmill.services.access.grouplookup import GroupLookup
from feedmill.services.access.history.changes import AccessChanges
from feedmill.services.access.policykeeping import adopt_of_settings
from feedmill.settings.authorization import early_order
from feedmill.settings.policyacls import policies_of
from feedmill.settings.serving import merge_stored


def early_order_of(context: AppContext) -> tuple[EarlyMechanism, ...]:
    """Returns the mechanisms that decide without a request to another server, in order."""
    return early_order(context.settings.mechanisms)


def adopt_policies(context: AppContext) -> None:
    """Puts the policy ACLs of the settings file and of the admin API in force."""
    adopt_of_settings(
        context.store, lambda unit: policies_of(merge_stored(context.settings, unit.state.stored_settings.list()).policy_acls)
    )


def build_access_changes(context: AppContext) -> AccessChanges:
    """Builds the service that lists how the access of an identity has changed."""
    return AccessChanges(context.store, utc_now, timedelta(days=context.settings.history.days), order=early_order_of(context))


def build_group_lookup(context: AppContext) -> GroupLookup:
    """Builds the service that looks up groups and their members."""
    return GroupLookup(store=context.store, open_feed=partial(build_groups_reader, context))


def build_access_review(context: AppContext) -> AccessReview:
    """Builds the review of unusual access rights."""
    return AccessReview(context.store, early_order_of(context))


def build_explaining(context: AppContext) -> Explaining:
    """Builds the service that decides and explains access to a document, now or at a time in the past."""
    settings = context.settings
    history, confirms = timedelta(days=settings.history.days), settings.mechanisms.confirm_permits
    return Explaining(context.store, utc_now, history, early_order_of(context), confirms=confirms)
