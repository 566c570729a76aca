package sandbox

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// architectures are those whose calls the filter knows, as the kernel numbers them. All have the low half of a value first.
var architectures = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64, "riscv64": unix.AUDIT_ARCH_RISCV64}

// Where a filter finds what was called (struct seccomp_data).
const (
	callAt = 0
	archAt = 4
	argAt  = 16
)

// x32 is the first number of a second set of calls on amd64; no other architecture has numbers that high.
const x32 = 0x4000_0000

// filter refuses sockets: all of them, or with a network all except those of the internet and of its configuration. So no
// command talks to another program, such as a container daemon, through a socket. A pair of connected sockets is allowed.
// Calls of another architecture, which have other numbers, end the process; io_uring could make sockets too.
func filter(architecture uint32, network bool) []unix.SockFilter {
	families := []uint32{}
	if network {
		families = []uint32{unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}
	}
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	jump := func(test uint16, value uint32, yes, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | test | unix.BPF_K, K: value, Jt: yes, Jf: no}
	}
	end := func(with uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: with}
	}
	n := uint8(len(families))
	list := []unix.SockFilter{
		load(archAt),
		jump(unix.BPF_JEQ, architecture, 0, n+7), // else kill
		load(callAt),
		jump(unix.BPF_JGE, x32, n+5, 0),                     // kill
		jump(unix.BPF_JEQ, unix.SYS_IO_URING_SETUP, n+2, 0), // refuse
		jump(unix.BPF_JEQ, unix.SYS_SOCKET, 0, n+2),         // else allow
		load(argAt),                                         // the family
	}
	for i, family := range families {
		list = append(list, jump(unix.BPF_JEQ, family, n-uint8(i), 0)) // allow
	}
	return append(list,
		end(unix.SECCOMP_RET_ERRNO|uint32(unix.EACCES)),
		end(unix.SECCOMP_RET_ALLOW),
		end(unix.SECCOMP_RET_KILL_PROCESS))
}

// install puts the calling thread under a filter.
func install(list []unix.SockFilter) error {
	program := unix.SockFprog{Len: uint16(len(list)), Filter: &list[0]}
	return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
}
