// Package demo runs a cluster on one machine, to look at what its clients see when parts of it are killed: three store servers and three nodes,
// each a process, and one address for clients.
//
//	client ──► front ──► node-a, node-b or node-c ══ links
//	                       └──────┴──────┴──► store-1, store-2, store-3
//
// Certificates, credentials, configs, data and logs are in one folder, and nothing is outside of it. The parts have process groups of their own, so that
// a terminal's ^C reaches the demo alone, which ends nodes before stores.
//
// Files depend in one direction: certificates, layout, part, front, demo.
package demo
