// The life of a VM, by go-proxmox: what a controller written in Go would do to a Proxmox VE cluster.
//
// Where the cluster is and who calls comes from the environment, by the names that the ansible modules use too.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/luthermonson/go-proxmox"
)

const (
	home  = "pve1"
	image = 9000
	text  = "50% = a;b & c+d\nzweite Zeile: äöü"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	client := caller()
	lookAround(ctx, client)
	vm := born(ctx, client)
	shaped(ctx, client, vm)
	seeded(ctx, client, vm)
	alive(ctx, client, vm)
	gone(ctx, client, vm)
	mistaken(ctx, client)
}

func caller() *proxmox.Client {
	user, password := os.Getenv("PROXMOX_USER"), os.Getenv("PROXMOX_PASSWORD")
	if password == "" {
		return connect(proxmox.WithAPIToken(user+"!"+os.Getenv("PROXMOX_TOKEN_ID"), os.Getenv("PROXMOX_TOKEN_SECRET")))
	}
	return connect(proxmox.WithCredentials(&proxmox.Credentials{Username: user, Password: password}))
}

func connect(credentials proxmox.Option) *proxmox.Client {
	pem := must(os.ReadFile(os.Getenv("PROXMOX_CA_PATH")))
	roots := x509.NewCertPool()
	check(roots.AppendCertsFromPEM(pem), "a certificate in PROXMOX_CA_PATH")
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	address := net.JoinHostPort(os.Getenv("PROXMOX_HOST"), os.Getenv("PROXMOX_PORT"))
	http := proxmox.WithHTTPClient(&http.Client{Transport: transport})
	return proxmox.NewClient("https://"+address+"/api2/json", http, credentials)
}

func lookAround(ctx context.Context, client *proxmox.Client) {
	equal(must(client.Version(ctx)).Release, os.Getenv("PROXMOX_RELEASE"))
	equal(len(must(client.Nodes(ctx))), 3)
	cluster := must(client.Cluster(ctx))
	equal(cluster.Quorate, 1)
	equal(len(cluster.Nodes), 3)
	node := must(client.Node(ctx, home))
	check(node.CPUInfo.CPUs > 0 && node.Memory.Total > 0 && len(node.LoadAvg) == 3, "the node tells what it is")
	templates := 0
	for _, vm := range must(node.VirtualMachines(ctx)) {
		if vm.Template {
			templates++
		}
	}
	equal(templates, 1)
	kinds := map[string]int{}
	for _, resource := range must(cluster.Resources(ctx)) {
		kinds[resource.Type]++
	}
	check(kinds["node"] == 3 && kinds["qemu"] == 3 && kinds["storage"] > 3, "nodes, images and storages are listed")
	check(must(node.Storage(ctx, "disks")).Avail > 0, "there is space")
	equal(must(client.Pool(ctx, "hf")).PoolID, "hf")
	check(len(must(client.Permissions(ctx, nil))) > 0, "the caller may do something")
}

func born(ctx context.Context, client *proxmox.Client) *proxmox.VirtualMachine {
	source := must(must(client.Node(ctx, home)).VirtualMachine(ctx, image))
	options := proxmox.VirtualMachineCloneOptions{Name: "life", Description: "made by go-proxmox"}
	vmid, task, err := source.Clone(ctx, &options)
	done(ctx, must(task, err), "qmclone")
	cluster := must(client.Cluster(ctx))
	equal(must(cluster.CheckID(ctx, vmid)), false)
	equal(must(cluster.CheckID(ctx, vmid+1)), true)
	return read(ctx, client, vmid)
}

func shaped(ctx context.Context, client *proxmox.Client, vm *proxmox.VirtualMachine) {
	equal(vm.VirtualMachineConfig.Name, "life")
	equal(vm.VirtualMachineConfig.Description, "made by go-proxmox")
	check(vm.HasTag("image") && !bool(vm.Template), "a clone has the tags of its image and is none itself")
	done(ctx, must(vm.Config(ctx, option("cores", 3), option("memory", 1536), option("description", text))), "qmconfig")
	done(ctx, must(vm.AddTag(ctx, "Zulu")), "qmconfig")
	done(ctx, must(vm.ResizeDisk(ctx, "scsi0", "+2G")), "resize")
	config := read(ctx, client, int(vm.VMID)).VirtualMachineConfig
	equal(config.Cores, 3)
	equal(int(config.Memory), 1536)
	equal(config.Description, text)
	equal(config.Tags, "image;zulu")
	contains(config.SCSI0, "size=10G")
}

// The way in which controllers in Go hand user-data to a VM: an image of a CD, made here, uploaded, attached, tagged.
func seeded(ctx context.Context, client *proxmox.Client, vm *proxmox.VirtualMachine) {
	*vm = *read(ctx, client, int(vm.VMID))
	ok(vm.CloudInit(ctx, "ide3", "#cloud-config\n", "instance-id: life\n", "", ""))
	*vm = *read(ctx, client, int(vm.VMID))
	contains(vm.VirtualMachineConfig.IDE3, fmt.Sprintf("iso/user-data-%d.iso,media=cdrom", vm.VMID))
	contains(vm.VirtualMachineConfig.Boot, ";ide3")
	check(vm.HasTag("go-proxmox+cloud-init"), "the VM is tagged: "+vm.VirtualMachineConfig.Tags)
}

func alive(ctx context.Context, client *proxmox.Client, vm *proxmox.VirtualMachine) {
	done(ctx, must(vm.Start(ctx)), "qmstart")
	ok(vm.Ping(ctx))
	equal(vm.Status, proxmox.StatusVirtualMachineRunning)
	check(vm.PID > 0 && vm.MaxMem == 1536<<20, "a running VM has a process and its memory")
	equal(vm.WaitForAgent(ctx, 1), proxmox.ErrTimeout)
	done(ctx, must(vm.Stop(ctx)), "qmstop")
	ok(vm.Ping(ctx))
	check(vm.IsStopped(), "the VM is stopped: "+vm.Status)
}

func gone(ctx context.Context, client *proxmox.Client, vm *proxmox.VirtualMachine) {
	// The library deletes its image of a CD first.
	done(ctx, must(vm.Delete(ctx)), "qmdestroy")
	node := must(client.Node(ctx, home))
	_, err := node.VirtualMachine(ctx, int(vm.VMID))
	refused(err, fmt.Sprintf("500 Configuration file 'nodes/%s/qemu-server/%d.conf' does not exist", home, vm.VMID))
	for _, storage := range must(node.Storages(ctx)) {
		for _, content := range must(storage.GetContent(ctx)) {
			seed := strings.HasSuffix(content.Volid, fmt.Sprintf("user-data-%d.iso", vm.VMID))
			check(!seed && content.VMID != uint64(vm.VMID), content.Volid+" is gone")
		}
	}
	equal(must(must(client.Cluster(ctx)).CheckID(ctx, int(vm.VMID))), true)
}

func mistaken(ctx context.Context, client *proxmox.Client) {
	node := must(client.Node(ctx, home))
	_, err := node.VirtualMachine(ctx, 4711)
	refused(err, "does not exist")
	source := must(node.VirtualMachine(ctx, image))
	_, err = source.Config(ctx, option("cores", "many"), option("bananas", 1))
	refused(err, "type check ('integer') failed")
	refused(err, `"bananas":"property is not defined in schema`)
	_, _, err = source.Clone(ctx, &proxmox.VirtualMachineCloneOptions{NewID: image})
	refused(err, "config file already exists")
	id, secret, _ := strings.Cut(os.Getenv("PROXMOX_LESSER_TOKEN"), "=")
	lesser := must(must(connect(proxmox.WithAPIToken(id, secret)).Node(ctx, home)).VirtualMachine(ctx, image))
	_, err = lesser.Config(ctx, option("cores", 1))
	check(proxmox.IsNotAuthorized(err), "only those who may change the image do")
	var missing proxmox.VirtualMachine
	missing.New(client, home, 4711)
	task := must(missing.Start(ctx))
	ok(task.Wait(ctx, 50*time.Millisecond, 30*time.Second))
	check(task.IsFailed, "starting what is not there fails")
	contains(task.ExitStatus, "does not exist")
}

func read(ctx context.Context, client *proxmox.Client, vmid int) *proxmox.VirtualMachine {
	return must(must(client.Node(ctx, home)).VirtualMachine(ctx, vmid))
}

func option(name string, value any) proxmox.VirtualMachineOption {
	return proxmox.VirtualMachineOption{Name: name, Value: value}
}

func done(ctx context.Context, task *proxmox.Task, kind string) {
	equal(task.Type, kind)
	ok(task.Wait(ctx, 50*time.Millisecond, 30*time.Second))
	log := must(task.Log(ctx, 0, 500))
	check(task.IsSuccessful, fmt.Sprintf("%s ends well, not with %s: %v", kind, task.ExitStatus, log))
	contains(log[len(log)-1], "TASK OK")
}

func refused(err error, words string) {
	check(err != nil, "an error that says "+words)
	contains(err.Error(), words)
}

func contains(text, words string) {
	check(strings.Contains(text, words), fmt.Sprintf("%q in %q", words, text))
}

func equal(found, expected any) {
	check(found == expected, fmt.Sprintf("%v, but found %v", expected, found))
}

func must[T any](value T, err error) T {
	ok(err)
	return value
}

func ok(err error) {
	if err != nil {
		panic(err)
	}
}

func check(holds bool, what string) {
	if !holds {
		panic(errors.New("expected: " + what))
	}
}
