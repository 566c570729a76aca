// Package sandbox confines the commands that models run.
//
// A command in a sandbox reads neither protected files nor secret places. It writes only below the session's folders and in a separate
// temporary folder. It has no network unless that is allowed. There are two kinds of sandbox, both on Linux:
//
//	daemon ──▶ supervisor ──▶ bwrap ──▶ sh                    a separate file system in which the secrets are covered
//	daemon ──▶ supervisor ──▶ thinkd confine ──exec──▶ sh     Landlock: rules of the kernel for the process and its children
//
// Bubblewrap is a program that has to be installed and needs the right to create namespaces. Landlock needs no program and no rights, but
// its rules can only allow: [Confine] describes the consequences. So bubblewrap is better if both are available.
//
// Inside the package, files depend in one direction: sandbox, bwrap, landlock, seccomp_linux, the landlock files for each system,
// wrap.
package sandbox
