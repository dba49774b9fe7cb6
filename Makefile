# The commands people know from other operators. `make help` lists them.

SHELL := /usr/bin/env bash
.SHELLFLAGS := -euo pipefail -c

CARGO ?= cargo
TARGET := $(or $(CARGO_TARGET_DIR),target)

# Your own kubectl, else the one that `make tools` builds.
KUBECTL ?= $(or $(shell command -v kubectl),$(shell hack/tools.sh --path kubectl))

# What the lanes run: a control plane, clients that others wrote, and a CI platform. helm is built by `make tools` and is
# not among them yet.
PLANE_TOOLS := etcd kube-apiserver kubectl kube-controller-manager
CLIENT_TOOLS := go-proxmox ansible-playbook proxmox-oracle scaleset-oracle octokit playwright
PLATFORM_TOOLS := gitea-runner gitea

# Everything is compiled once, programs and tests together and as people run them, so that no lane finds other features or
# another speed than the one before. $(1): the lanes, in order.
define lanes
@started=$$(date +%s); \
$(CARGO) build --release --workspace --all-targets; \
$(TARGET)/release/testenv lanes --build-seconds $$(( $$(date +%s) - started )) $(1)
endef

# $(1): what the target needs before it can do anything.
define later
@echo "make $@: not available yet; it comes with $(1) (README.md, Status)" >&2; exit 1
endef

##@ General

.PHONY: all
all: build ## The same as build.

.PHONY: help
help: ## Show this list.
	@awk 'BEGIN { FS = ":.*##"; printf "usage: make <target>\n" } \
	  /^##@/ { printf "\n%s\n", substr($$0, 5) } \
	  /^[a-zA-Z0-9_-]+:.*##/ { printf "  %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

##@ Development

.PHONY: generate manifests
generate: rust ## Write everything generated: CRDs, roles, examples, reference pages.
	$(CARGO) xtask codegen
manifests: generate ## The same as generate.

.PHONY: fmt
fmt: rust ## Format the code.
	$(CARGO) fmt --all

.PHONY: lint
lint: rust ## Check formatting, lints, generated files, dependency edges, file sizes and names.
	$(call lanes,lint)

.PHONY: run
run: rust ## Run the operator against the current kubeconfig; ARGS="..." adds flags.
	$(CARGO) run --package hyperfleet-operator -- operator $(ARGS)

##@ Tests

.PHONY: test
test: rust tools-for-tests ## Everything CI checks: lint and all lanes, with a time and counts for each.
	$(call lanes,lint unit virtual real trace)

.PHONY: test-unit test-virtual test-integration
test-unit: rust ## Unit tests, properties and the examples in the documentation.
	$(call lanes,unit)
test-virtual: rust ## Whole operators in virtual time.
	$(call lanes,virtual)
test-integration: rust tools-for-tests ## Tests against a real control plane.
	$(call lanes,real)

.PHONY: test-e2e
test-e2e: ## End to end with real virtual machines (later).
	$(call later,the agent in the VM)

.PHONY: soak
soak: rust tools-for-tests ## The big numbers: many seeds, many kills, long runs.
	$(call lanes,soak)

.PHONY: bench
bench: rust tools-for-tests ## Measure a release build; prints a table and writes target/bench.json.
	$(CARGO) build --release --bins --package hyperfleet-operator --package hyperfleet-sim --package hyperfleet-agent --package hyperfleet-testenv --package hyperfleet-bench
	$(TARGET)/release/testenv run $(TARGET)/release/hyperfleet-bench

##@ Build

.PHONY: build
build: rust ## Build the programs for release.
	$(CARGO) build --release --package hyperfleet-operator

# Static, so that it runs in every image. The target is named, so that build scripts are not built static too.
.PHONY: agent
agent: rust ## Build the agent for VM images: one static program, target/agent/hyperfleet-agent.
	RUSTFLAGS="-C target-feature=+crt-static -C strip=symbols" \
	  $(CARGO) build --release --package hyperfleet-agent --target x86_64-unknown-linux-gnu
	@mkdir -p $(TARGET)/agent
	@cp $(TARGET)/x86_64-unknown-linux-gnu/release/hyperfleet-agent $(TARGET)/agent/hyperfleet-agent

.PHONY: docker-build
docker-build: ## Build the container image (later).
	$(call later,the installation manifests)

.PHONY: tools tools-etcd tools-kubernetes tools-clients tools-gitea tools-helm
tools: rust go python npm ## Build the third-party programs that tests run, into a cache outside the tree.
	@hack/tools.sh
tools-etcd: go ## Only etcd.
	@hack/tools.sh etcd
tools-kubernetes: go ## Only kube-apiserver, kubectl and kube-controller-manager.
	@hack/tools.sh kubernetes
tools-clients: rust go python npm ## Only clients that others wrote, and the schemas that they publish.
	@hack/tools.sh $(CLIENT_TOOLS)
tools-gitea: go ## Only the Gitea server and its runner.
	@hack/tools.sh $(PLATFORM_TOOLS)
tools-helm: go ## Only helm.
	@hack/tools.sh helm

##@ Cluster

.PHONY: install uninstall
install: ## Apply the CRDs to the cluster of the current kubeconfig.
	$(KUBECTL) apply --server-side -f deploy/crds
	$(KUBECTL) wait --for=condition=Established --timeout=60s -f deploy/crds
uninstall: ## Remove the CRDs, and with them every object of their kinds.
	$(KUBECTL) delete --ignore-not-found -f deploy/crds

.PHONY: deploy undeploy
deploy: ## Install the operator into the cluster of the current kubeconfig (later).
	$(call later,the installation manifests)
undeploy: ## Remove it again (later).
	$(call later,the installation manifests)

.PHONY: demo
demo: rust ## Show the whole thing on simulated hypervisors, without a cluster; ARGS="..." adds flags.
	@$(CARGO) build --package hyperfleet-operator --bin hyperfleet
	@$(TARGET)/debug/hyperfleet demo $(ARGS)

# What the targets above need. None of these is a file.

.PHONY: rust go python npm browser tools-for-tests
rust go python npm browser:
	@hack/requirements.sh $@
# Programs given by KUBEBUILDER_ASSETS are used as they are; the controllers are usually not among them.
tools-for-tests: rust go python npm browser
ifeq ($(KUBEBUILDER_ASSETS),)
	@hack/tools.sh $(PLANE_TOOLS) $(CLIENT_TOOLS) $(PLATFORM_TOOLS)
else
	@test -x "$(KUBEBUILDER_ASSETS)/kube-controller-manager" || hack/tools.sh kube-controller-manager
	@hack/tools.sh $(CLIENT_TOOLS) $(PLATFORM_TOOLS)
endif
