// Package daemon runs the one process that has a data directory, and lets the commands of a user find it.
//
// A command looks for the daemon at the directory's socket. If there is none, it starts one in the background, which holds the
// store's lock: the process that has the lock is the daemon.
//
//	command ──[Options.Connect]──▶ socket ──▶ host ──▶ daemon: store, agents, server
//	   └──start──▶ [Options.Background] ──▶ host    ▲
//	                  [Options.Serve] ──▶ host ──▶ network
//
// A host is a daemon that accepts connections. It ends when its context ends, when nobody has needed it for its idle time, when a
// newer version asks for the place, or when the store is lost. At the end it accepts nobody, interrupts the turns, lets
// clients read how they ended, and closes the store, in this order.
//
// Inside the package, files depend in one direction: environment, hide, logfile, memory, models, options, store, audit, system, socket, toolhosts,
// daemon, host, local, start, find, manage, serve.
package daemon
