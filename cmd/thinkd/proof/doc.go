// Package proof has what the system tests share. They test the program from outside: the packages below this one, one for each subject,
// start real daemons, doors and commands and communicate with them.
//
// The tests build the program once: see Program.
//
// Inside the package, files depend in one direction: build, config, excerpt, levels, memory, needs, poison, recital,
// script, standins and store need no other file, then process, then doors, foreign, logins, received and serve, then kills.
package proof
