package command

import (
	"os"

	"golang.org/x/sys/unix"
)

// forbidCoreDumps disables core dumps of this process and of its children. If the call fails, the
// system's limit for core dumps applies.
func forbidCoreDumps() {
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
}

// LimitMemory limits the memory of this process to a number of bytes, and makes this process the
// first that Linux kills when memory runs out. If a call fails, the system's limits apply.
func LimitMemory(bytes uint64) {
	_ = unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: bytes, Max: bytes})
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
}
