package lab

import (
	"weir/lab/contract"
	"weir/lab/workload/chat"
	"weir/lab/workload/http"
	"weir/lab/workload/stack"
	"weir/lab/workload/stream"
)

// ContractKinds returns the contracts of all workloads, for contract.Run.
func ContractKinds() []contract.Kind {
	return []contract.Kind{stream.Contract, http.Contract, chat.Contract, stack.Contract}
}
