"""The life of a VM, by proxmoxer: what a person with a Python script would do to a Proxmox VE cluster.

Where the cluster is and who calls comes from the environment, by the names that the ansible modules use too.
"""

import io
import os
import re
import tempfile
from pathlib import Path

from proxmoxer import AuthenticationError, ProxmoxAPI, ResourceException
from proxmoxer.backends.https import ProxmoxHTTPAuth
from proxmoxer.tools import Files, Tasks

NODE, IMAGE = "pve1", 9000


def connect(**credentials):
    return ProxmoxAPI(
        os.environ["PROXMOX_HOST"],
        port=int(os.environ["PROXMOX_PORT"]),
        verify_ssl=os.environ["PROXMOX_CA_PATH"],
        timeout=20,
        **credentials,
    )


def caller():
    user = os.environ["PROXMOX_USER"]
    if "PROXMOX_PASSWORD" in os.environ:
        return connect(user=user, password=os.environ["PROXMOX_PASSWORD"])
    return connect(
        user=user, token_name=os.environ["PROXMOX_TOKEN_ID"], token_value=os.environ["PROXMOX_TOKEN_SECRET"]
    )


def equal(found, expected):
    assert found == expected, f"{found!r} is not {expected!r}"


def done(api, upid, kind):
    """Waits for a task and looks at all that can be known about it."""
    equal(Tasks.decode_upid(upid)["type"], kind)
    status = Tasks.blocking_status(api, upid, timeout=30, polling_interval=0.05)
    assert status is not None, f"{upid} does not end"
    log = Tasks.decode_log(api.nodes(NODE).tasks(upid).log.get())
    equal(status["exitstatus"], "OK")
    assert log.endswith("TASK OK"), log
    return status


def refused(code, words, call, *arguments, **parameters):
    """Makes a call that must fail, in the way the real server would let it fail."""
    try:
        answer = call(*arguments, **parameters)
    except ResourceException as error:
        equal(error.status_code, code)
        assert words in str(error), f"{error} does not say {words!r}"
        return error
    raise AssertionError(f"{answer!r} instead of {code} {words}")


def look_around(api):
    release = os.environ["PROXMOX_RELEASE"]
    equal(api.version.get()["release"], release)
    equal(sorted(node["node"] for node in api.nodes.get()), ["pve1", "pve2", "pve3"])
    assert api.nodes(NODE).status.get()["pveversion"].startswith(f"pve-manager/{release}")
    equal(len([one for one in api.cluster.status.get() if one["type"] == "node"]), 3)
    images = [vm for vm in api.cluster.resources.get(type="vm") if vm.get("template")]
    equal(sorted(vm["vmid"] for vm in images), [9000, 9001, 9002])
    assert {"node", "qemu", "storage"} <= {one["type"] for one in api.cluster.resources.get()}
    storages = {one["storage"] for one in api.nodes(NODE).storage.get(content="iso")}
    assert {"local", "shared"} <= storages, storages
    assert api.access.permissions.get(path="/vms/9000")["/vms/9000"]["VM.Clone"] in (0, 1)


def born(api):
    vmid = int(api.cluster.nextid.get())
    image = api.nodes(NODE).qemu(IMAGE)
    equal(image.feature.get(feature="clone")["hasFeature"], 1)
    upid = image.clone.post(newid=vmid, name="life", description="made by proxmoxer", full=0)
    equal(done(api, upid, "qmclone")["id"], str(IMAGE))
    refused(500, "config file already exists", image.clone.post, newid=vmid)
    refused(400, "already exists", api.cluster.nextid.get, vmid=vmid)
    return vmid


def shaped(api, vm):
    config = vm.config.get()
    equal((config["name"], config["description"]), ("life", "made by proxmoxer"))
    equal(config["tags"], "image")
    assert "template" not in config, config
    text = "50% = a;b & c+d\nzweite Zeile: äöü"
    vm.config.put(cores=3, memory=1536, tags="Zulu;alpha", description=text, digest=config["digest"])
    config = vm.config.get()
    equal((config["cores"], config["memory"], config["description"]), (3, "1536", text))
    equal(config["tags"], "alpha;zulu")
    refused(500, "checksum mismatch", vm.config.put, cores=1, digest="0" * 40)
    done(api, vm.config.post(onboot=1), "qmconfig")
    equal(vm.config.get()["onboot"], 1)
    done(api, vm.resize.put(disk="scsi0", size="+2G"), "resize")
    assert "size=10G" in vm.config.get()["scsi0"]


def given_a_seed(api, vm, vmid):
    """Uploads an image of a CD in both ways that the library offers, and puts it into the drive."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "proxmoxer seed.iso"
        path.write_bytes(b"\0" * 70_000)
        status = Files(api, NODE, "local").upload_local_file_to_storage(str(path))
        equal((status["type"], status["exitstatus"]), ("imgcopy", "OK"))
    small = io.BytesIO(b"seed")
    small.name = "small.iso"
    done(api, api.nodes(NODE).storage("local").upload.post(content="iso", filename=small), "imgcopy")
    sizes = {one["volid"]: one["size"] for one in api.nodes(NODE).storage("local").content.get(content="iso")}
    equal(sizes, {"local:iso/proxmoxer_seed.iso": 70_000, "local:iso/small.iso": 4})
    vm.config.put(ide2="local:iso/proxmoxer_seed.iso,media=cdrom")
    assert vm.config.get()["ide2"].startswith("local:iso/proxmoxer_seed.iso,media=cdrom"), vm.config.get()


def alive(api, vm, vmid):
    refused(500, f"VM {vmid} is not running", vm.agent.ping.post)
    done(api, vm.status.start.post(), "qmstart")
    status = vm.status.current.get()
    equal((status["status"], status["qmpstatus"], status["agent"]), ("running", "running", 1))
    assert status["pid"] > 0 and status["maxmem"] == 1536 << 20, status
    equal([one["status"] for one in api.nodes(NODE).qemu.get() if one["vmid"] == vmid], ["running"])
    refused(500, "QEMU guest agent is not running", vm.agent.ping.post)
    refused(500, f"VM {vmid} is running - destroy failed", vm.delete)
    done(api, vm.status.stop.post(), "qmstop")
    equal(vm.status.current.get()["status"], "stopped")


def gone(api, vm, vmid):
    done(api, vm.delete(purge=1, **{"destroy-unreferenced-disks": 1}), "qmdestroy")
    refused(500, f"Configuration file 'nodes/{NODE}/qemu-server/{vmid}.conf' does not exist", vm.config.get)
    equal([one for one in api.cluster.resources.get(type="vm") if one["vmid"] == vmid], [])
    equal(api.nodes(NODE).storage("disks").content.get(vmid=vmid), [])
    equal(api.cluster.nextid.get(vmid=vmid), str(vmid))
    content = api.nodes(NODE).storage("local").content
    for seed in content.get(content="iso"):
        done(api, content(seed["volid"]).delete(), "imgdel")
    equal(content.get(), [])


def mistaken(api):
    qemu = api.nodes(NODE).qemu
    refused(500, "does not exist", qemu(4711).status.current.get)
    refused(500, "unable to find configuration file for VM 4711", qemu(4711).clone.post, newid=4712)
    failed = Tasks.blocking_status(api, qemu(4711).status.start.post(), polling_interval=0.05)
    assert "does not exist" in failed["exitstatus"], failed
    wrong = refused(400, "Parameter verification failed.", qemu(IMAGE).config.put, cores="many", bananas=1)
    assert "type check ('integer') failed" in wrong.errors["cores"], wrong.errors
    assert "not defined in schema" in wrong.errors["bananas"], wrong.errors
    refused(501, "not implemented", api.nodes(NODE).bananas.get)
    user, token, secret = re.split("[!=]", os.environ["PROXMOX_LESSER_TOKEN"])
    lesser = connect(user=user, token_name=token, token_value=secret).nodes(NODE).qemu(IMAGE)
    equal(lesser.config.get()["template"], 1)
    refused(403, f"Permission check failed (/vms/{IMAGE}, VM.PowerMgmt)", lesser.status.start.post)


def credentials(api):
    if "PROXMOX_PASSWORD" not in os.environ:
        stranger = connect(user=os.environ["PROXMOX_USER"], token_name="hf", token_value="2" * 36)
        refused(401, "", stranger.version.get)
        return
    try:
        connect(user=os.environ["PROXMOX_USER"], password="wrong")
        raise AssertionError("a wrong password was taken")
    except AuthenticationError:
        pass
    # The library renews a ticket that is older than this, with the ticket as the password.
    before, ProxmoxHTTPAuth.renew_age = ProxmoxHTTPAuth.renew_age, 0
    api.version.get()
    ProxmoxHTTPAuth.renew_age = before
    api.nodes(NODE).qemu(IMAGE).config.put(description="written with a renewed ticket")


def main():
    api = caller()
    look_around(api)
    vmid = born(api)
    vm = api.nodes(NODE).qemu(vmid)
    shaped(api, vm)
    given_a_seed(api, vm, vmid)
    alive(api, vm, vmid)
    gone(api, vm, vmid)
    mistaken(api)
    credentials(api)


if __name__ == "__main__":
    main()
