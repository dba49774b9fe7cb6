// A program of ours around github.com/luthermonson/go-proxmox, the client that Cluster API's provider and others build on.
// Tests run it against the simulated Proxmox VE; hack/tools.sh builds it into a cache outside the tree.
module hyperfleet.io/tools/go-proxmox

go 1.26

require github.com/luthermonson/go-proxmox v0.4.0

require (
	github.com/buger/goterm v1.0.4 // indirect
	github.com/diskfs/go-diskfs v1.7.0 // indirect
	github.com/djherbis/times v1.6.0 // indirect
	github.com/gorilla/websocket v1.4.2 // indirect
	github.com/jinzhu/copier v0.3.4 // indirect
	github.com/magefile/mage v1.14.0 // indirect
	golang.org/x/sys v0.19.0 // indirect
)
