"""What an operator of runners asks of GitHub, by githubkit: its models were made from GitHub's own descriptions.

Every answer, good or bad, has to fit its model to the letter: nothing converted, and no field that the description does
not know. Where GitHub is and who calls comes from the environment.
"""

import json
import os
import ssl
import subprocess
import time
import urllib.request
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Queue
from threading import Thread
from typing import Any

from githubkit import AppAuthStrategy, AppInstallationAuthStrategy, GitHub, TokenAuthStrategy
from githubkit.exception import PrimaryRateLimitExceeded, RequestFailed, SecondaryRateLimitExceeded
from githubkit.webhooks import verify
from githubkit_schemas.v2022_11_28.models import BasicError
from pydantic import TypeAdapter

VERSION = "2022-11-28"
OWNER, REPOSITORY, ENTERPRISE = "acme", "widgets", "acme-group"
HERE = (OWNER, REPOSITORY)
LABELS = ["self-hosted", "linux", "x64", "gpu"]
SECRET = "a secret of theirs and ours"
CLIENT_ID, INSTALLATION = os.environ["GITHUB_CLIENT_ID"], int(os.environ["GITHUB_INSTALLATION"])
WEB, CA_FILE = os.environ["GITHUB_WEB"], os.environ["GITHUB_CA_FILE"]
TRUST = ssl.create_default_context(cafile=CA_FILE)

# What GitHub answers and its description of itself does not know.
BEYOND = {
    # Every error has it since 2024; of the models only that of the plain ones does.
    ("ValidationError", ".status"),
    ("ValidationErrorSimple", ".status"),
}

# What is made of a caller does not keep it alive.
CALLERS = []


def caller(credentials):
    # Nothing is tried again: what is refused is to be seen.
    options = {"ssl_verify": TRUST, "trust_env": False, "auto_retry": False, "http_cache": False}
    CALLERS.append(GitHub(credentials, base_url=f"{WEB}/api/v3", **options))
    return CALLERS[-1]


def app(permissions=None):
    with open(os.environ["GITHUB_APP_KEY_FILE"], encoding="utf-8") as file:
        key = file.read()
    if permissions is None:
        return caller(AppAuthStrategy(None, key, client_id=CLIENT_ID))
    lent = AppInstallationAuthStrategy(None, key, INSTALLATION, client_id=CLIENT_ID, permissions=permissions)
    return caller(lent)


def person(token=os.environ["GITHUB_TOKEN"]):
    return caller(TokenAuthStrategy(token))


def equal(found, expected):
    assert found == expected, f"{found!r} is not {expected!r}"


def invented(said, kept, at=""):
    """Fields that were said and that the description does not know, wherever they stand."""
    if isinstance(said, dict):
        for name, value in said.items():
            if name in kept:
                yield from invented(value, kept[name], f"{at}.{name}")
            else:
                yield f"{at}.{name}"
    elif isinstance(said, list):
        for value, known in zip(said, kept):
            yield from invented(value, known, f"{at}[]")


def known(model, text):
    """What a text says, if it is one of those that are described."""
    kind = TypeAdapter(model)
    said = kind.validate_json(text, strict=True)
    kept = kind.dump_python(said, mode="json", by_alias=True, exclude_unset=True)
    unknown = {(type(said).__name__, field) for field in invented(json.loads(text), kept)} - BEYOND
    assert not unknown, f"nobody knows {sorted(unknown)}"
    return said


def fits(answer):
    """What an answer says, once it is clear that it is one of those that are described."""
    if not answer.content:
        return None
    model = answer._data_model
    if model is Any:
        assert answer.is_error, f"{answer.url} is not described with {answer.status_code}"
        # What can happen to any call is described once.
        model = BasicError
    return known(model, answer.content)


def asked(call, *arguments, **parameters):
    return fits(call(*arguments, **parameters))


def refused(status, words, call, *arguments, **parameters):
    """Makes a call that must fail, in the way and the words of the service."""
    try:
        answer = call(*arguments, **parameters)
    except RequestFailed as failed:
        equal(failed.response.status_code, status)
        said = fits(failed.response)
        assert words in said.message, f"{said.message!r} does not say {words!r}"
        return failed.response
    raise AssertionError(f"{answer!r} instead of {status} {words}")


def control(method, path, body):
    """Makes something happen at the simulated GitHub."""
    request = urllib.request.Request(f"{WEB}/sim/{path}", json.dumps(body).encode(), method=method)
    opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=TRUST), urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=20) as answer:
        return json.load(answer)


def until(what, look):
    for _ in range(400):
        if found := look():
            return found
        time.sleep(0.05)
    raise AssertionError(f"{what} does not come about")


def apps():
    api = app().rest(VERSION).apps
    equal(asked(api.get_authenticated).client_id, CLIENT_ID)
    equal([one.id for one in asked(api.list_installations)], [INSTALLATION])
    for installed in (
        asked(api.get_installation, INSTALLATION),
        asked(api.get_org_installation, OWNER),
        asked(api.get_repo_installation, *HERE),
    ):
        equal((installed.id, installed.account.login, installed.suspended_at), (INSTALLATION, OWNER, None))
    lent = asked(api.create_installation_access_token, INSTALLATION, permissions={"actions": "read"})
    end = datetime.fromisoformat(str(lent.expires_at)) - datetime.now(timezone.utc)
    assert timedelta(minutes=55) < end <= timedelta(hours=1), lent.expires_at
    equal((lent.permissions.actions, lent.permissions.administration or None), ("read", None))
    refused(404, "Not Found", api.get_installation, 1)
    refused(422, "not granted", api.create_installation_access_token, INSTALLATION, permissions={"contents": "write"})
    refused(401, "Bad credentials", person("ghp_nobody").rest(VERSION).actions.list_self_hosted_runners_for_org, OWNER)


def scopes():
    """The calls of runners in each scope: register, list, get, remove, applications, a token to register with."""
    api, ghec = app({"organization_self_hosted_runners": "write"}).rest(VERSION).actions, person().rest(f"ghec-{VERSION}")
    own = app({"administration": "write"}).rest(VERSION).actions
    admin, theirs = ghec.enterprise_admin, ghec.actions
    return [
        ((OWNER,), api.generate_runner_jitconfig_for_org, api.list_self_hosted_runners_for_org,
         api.get_self_hosted_runner_for_org, api.delete_self_hosted_runner_from_org,
         api.list_runner_applications_for_org, api.create_registration_token_for_org),
        (HERE, own.generate_runner_jitconfig_for_repo, own.list_self_hosted_runners_for_repo,
         own.get_self_hosted_runner_for_repo, own.delete_self_hosted_runner_from_repo,
         own.list_runner_applications_for_repo, own.create_registration_token_for_repo),
        ((ENTERPRISE,), theirs.generate_runner_jitconfig_for_enterprise, admin.list_self_hosted_runners_for_enterprise,
         admin.get_self_hosted_runner_for_enterprise, admin.delete_self_hosted_runner_from_enterprise,
         admin.list_runner_applications_for_enterprise, admin.create_registration_token_for_enterprise),
    ]


def runners():
    for owner, make, listing, get, delete, applications, token in scopes():
        wanted = {"name": "kit-1", "runner_group_id": 1, "labels": LABELS, "work_folder": "_work"}
        made = asked(make, *owner, **wanted)
        assert made.encoded_jit_config, made
        equal((made.runner.name, made.runner.status, made.runner.busy), ("kit-1", "offline", False))
        equal([label.name for label in made.runner.labels], LABELS)
        refused(409, "Already exists", make, *owner, **wanted)
        refused(422, "Validation Failed", make, *owner, **{**wanted, "name": "x" * 80})
        refused(404, "Not Found", make, *owner, **{**wanted, "name": "kit-2", "runner_group_id": 77})
        asked(make, *owner, **{**wanted, "name": "kit-3"})
        first = listing(*owner, per_page=1)
        page = fits(first)
        equal((page.total_count, len(page.runners)), (2, 1))
        assert 'rel="next"' in first.headers["link"], first.headers
        equal([one.name for one in asked(listing, *owner, per_page=1, page=2).runners], ["kit-3"])
        equal(asked(get, *owner, made.runner.id).name, "kit-1")
        assert {one.architecture for one in asked(applications, *owner)} >= {"x64", "arm64"}
        assert asked(token, *owner).token
        for runner in asked(listing, *owner).runners:
            equal(delete(*owner, runner.id).status_code, 204)
        equal(asked(listing, *owner).total_count, 0)
        gone(get, *owner, made.runner.id)


def gone(call, *arguments):
    try:
        call(*arguments)
    except RequestFailed as failed:
        equal((failed.response.status_code, failed.response.json()["message"]), (404, "Not Found"))
        return
    raise AssertionError("it is still there")


def groups_and_labels():
    api = app({"organization_self_hosted_runners": "write"}).rest(VERSION).actions
    listed = asked(api.list_self_hosted_runner_groups_for_org, OWNER)
    equal([(group.name, group.default) for group in listed.runner_groups], [("Default", True), ("trusted", False)])
    equal(asked(api.get_self_hosted_runner_group_for_org, OWNER, 2).visibility, "selected")
    runner = asked(api.generate_runner_jitconfig_for_org, OWNER, name="kit-4", runner_group_id=1, labels=LABELS).runner
    names = lambda answer: [label.name for label in answer.labels]
    equal(names(asked(api.list_labels_for_self_hosted_runner_for_org, OWNER, runner.id)), LABELS)
    added = asked(api.add_custom_labels_to_self_hosted_runner_for_org, OWNER, runner.id, labels=["big"])
    equal(names(added), [*LABELS, "big"])
    kept = asked(api.set_custom_labels_for_self_hosted_runner_for_org, OWNER, runner.id, labels=["red"])
    equal(names(kept), ["self-hosted", "linux", "x64", "red"])
    equal(names(asked(api.remove_custom_label_from_self_hosted_runner_for_org, OWNER, runner.id, "red"))[3:], [])
    api.delete_self_hosted_runner_from_org(OWNER, runner.id)


class Receiver(ThreadingHTTPServer):
    """Takes deliveries, once it is told to."""

    def __init__(self):
        self.taken, self.ready = Queue(), False
        super().__init__(("127.0.0.1", 0), Delivery)
        Thread(target=self.serve_forever, daemon=True).start()

    def url(self):
        return f"http://127.0.0.1:{self.server_port}/"


class Delivery(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.server.ready:
            self.server.taken.put((dict(self.headers.items()), body))
        self.send_response(202 if self.server.ready else 503)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def heard(receiver, action):
    """The next delivery: signed, and of its kind."""
    headers, body = receiver.taken.get(timeout=20)
    headers = {name.lower(): value for name, value in headers.items()}
    equal(headers["x-github-event"], "workflow_job")
    assert verify(SECRET, body, headers["x-hub-signature-256"]), "the signature is not theirs"
    assert not verify(SECRET, body + b" ", headers["x-hub-signature-256"]), "anything is believed"
    assert verify(SECRET, body, headers["x-hub-signature"]), "nor is the old one"
    event = person().webhooks(VERSION).parse("workflow_job", body)
    known(type(event), body)
    equal((event.action, event.repository.full_name), (action, f"{OWNER}/{REPOSITORY}"))
    return event, headers["x-github-delivery"]


def run_of(api, name="build", **job):
    run = control("POST", "runs", {"jobs": [{"name": name, "labels": LABELS, **job}]})["run"]
    equal(asked(api.get_workflow_run, *HERE, run).status, "queued")
    return run


def started(api, name):
    """A runner as a process of its own."""
    made = asked(api.generate_runner_jitconfig_for_org, OWNER, name=name, runner_group_id=1, labels=LABELS)
    variables = {"ACTIONS_RUNNER_INPUT_JITCONFIG": made.encoded_jit_config, "SSL_CERT_FILE": CA_FILE}
    program = [os.environ["GITHUB_RUNNER"], "runner", "run"]
    return made.runner, subprocess.Popen(program, env={**os.environ, **variables}, stdout=subprocess.DEVNULL)


def jobs(receiver):
    api = app({"actions": "write"}).rest(VERSION).actions
    admin = app({"organization_self_hosted_runners": "write"}).rest(VERSION).actions
    run = run_of(api, seconds=2)
    event, _ = heard(receiver, "queued")
    equal((event.workflow_job.run_id, event.workflow_job.labels), (run, LABELS))
    job = event.workflow_job.id
    equal([one.id for one in asked(api.list_jobs_for_workflow_run, *HERE, run).jobs], [job])
    equal(asked(api.list_workflow_runs_for_repo, *HERE, status="queued").total_count, 1)

    runner, process = started(admin, "kit-5")
    event, _ = heard(receiver, "in_progress")
    equal((event.workflow_job.id, event.workflow_job.runner_id), (job, runner.id))
    equal(asked(api.get_job_for_workflow_run, *HERE, job).runner_name, "kit-5")
    until("busy", lambda: asked(admin.get_self_hosted_runner_for_org, OWNER, runner.id).busy)
    refused(422, "currently running a job", admin.delete_self_hosted_runner_from_org, OWNER, runner.id)
    event, _ = heard(receiver, "completed")
    equal((event.workflow_job.conclusion, process.wait(20)), ("success", 0))
    equal(asked(api.get_workflow_run, *HERE, run).conclusion, "success")
    gone(admin.get_self_hosted_runner_for_org, OWNER, runner.id)

    asked(api.re_run_workflow, *HERE, run)
    event, _ = heard(receiver, "queued")
    equal((event.workflow_job.run_attempt, event.workflow_job.id == job), (2, False))
    equal(len(asked(api.list_jobs_for_workflow_run, *HERE, run, filter_="all").jobs), 2)
    asked(api.cancel_workflow_run, *HERE, run)
    event, _ = heard(receiver, "completed")
    equal((event.workflow_job.conclusion, event.workflow_job.runner_id), ("cancelled", None))
    refused(409, "Cannot cancel", api.cancel_workflow_run, *HERE, run)
    asked(api.re_run_job_for_workflow_run, *HERE, event.workflow_job.id)
    heard(receiver, "queued")
    asked(api.cancel_workflow_run, *HERE, run)
    heard(receiver, "completed")
    gone(api.get_job_for_workflow_run, *HERE, 1)


def held(receiver):
    """A job that a rule holds, until somebody approves."""
    api = app({"actions": "write"}).rest(VERSION).actions
    queued = control("POST", "runs", {"jobs": [{"name": "deploy", "labels": LABELS, "waiting": True}]})
    heard(receiver, "waiting")
    equal(asked(api.get_workflow_run, *HERE, queued["run"]).status, "waiting")
    control("POST", f"jobs/{queued['jobs'][0]}/approve", {})
    heard(receiver, "queued")
    asked(api.cancel_workflow_run, *HERE, queued["run"])
    heard(receiver, "completed")


def deliveries(receiver):
    """Deliveries that failed are listed, and sent again under the same name."""
    hook = control("POST", "hooks", {"owner": OWNER, "url": receiver.url(), "secret": SECRET})["hook"]
    api, orgs = app().rest(VERSION).apps, app({"organization_hooks": "write"}).rest(VERSION).orgs
    equal([one.id for one in asked(orgs.list_webhooks, OWNER)], [hook])
    receiver.ready = False
    run = control("POST", "runs", {"jobs": [{"name": "unheard"}]})["run"]
    places = [
        (api.list_webhook_deliveries, api.get_webhook_delivery, api.redeliver_webhook_delivery, ()),
        (orgs.list_webhook_deliveries, orgs.get_webhook_delivery, orgs.redeliver_webhook_delivery, (OWNER, hook)),
    ]
    for listing, get, redeliver, where in places:
        failed = until("a failure", lambda: [one for one in asked(listing, *where) if one.status_code == 503])[0]
        equal((failed.event, failed.action, failed.redelivery), ("workflow_job", "queued", False))
        whole = asked(get, *where, failed.id)
        equal(whole.request.payload.model_dump()["workflow_job"]["run_id"], run)
        receiver.ready = True
        asked(redeliver, *where, failed.id)
        event, guid = heard(receiver, "queued")
        equal((event.workflow_job.run_id, guid), (run, failed.guid))
        again = lambda: [one for one in asked(listing, *where) if one.redelivery and one.guid == guid]
        equal(until("its record", again)[0].status, "OK")
    control("POST", f"runs/{run}/cancel", {})
    heard(receiver, "completed")
    heard(receiver, "completed")


def rates():
    api = person().rest(VERSION)
    before = asked(api.rate_limit.get).resources
    answer = api.actions.list_self_hosted_runners_for_org(OWNER)
    fits(answer)
    left = {name: int(answer.headers[f"x-ratelimit-{name}"]) for name in ("limit", "remaining", "used", "reset")}
    equal((left["limit"], left["used"], left["remaining"]), (5000, before.core.used + 1, before.core.remaining - 1))
    equal(answer.headers["x-ratelimit-resource"], "core")
    assert 0 < left["reset"] - time.time() <= 3600, left
    equal(asked(api.rate_limit.get).resources.core.used, left["used"])
    same = person().request("GET", f"/orgs/{OWNER}/actions/runners", headers={"If-None-Match": answer.headers["etag"]})
    equal((same.status_code, same.headers["x-ratelimit-used"]), (304, str(left["used"])))
    for kind, exception in (
        ({"kind": "secondary-limit", "seconds": 7}, SecondaryRateLimitExceeded),
        ({"kind": "primary-limit"}, PrimaryRateLimitExceeded),
    ):
        control("PUT", "faults", [kind])
        try:
            api.actions.list_self_hosted_runners_for_org(OWNER)
            raise AssertionError(f"{kind} changes nothing")
        except exception as limited:
            waits = limited.retry_after.total_seconds()
            assert waits == 7 if "seconds" in kind else 0 < waits <= 3600, waits


def main():
    apps()
    runners()
    groups_and_labels()
    receiver = Receiver()
    control("POST", "hooks", {"owner": "app", "url": receiver.url(), "secret": SECRET})
    receiver.ready = True
    jobs(receiver)
    held(receiver)
    deliveries(receiver)
    rates()


if __name__ == "__main__":
    main()
