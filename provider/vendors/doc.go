// Package vendors has the configured providers: which wire API each one speaks, at which address, and with which key; whether a
// local server runs; and which models each host lists.
//
// [Open] makes no call. A provider's adapters are made with its first call, and a local server is asked in the background when somebody
// wants to know about it. Hosts are asked for their lists only by [Listings.Refresh].
//
// Everything in this package is safe for concurrent use once it is made.
//
// Inside the package, files depend in one direction: api, address, config, catalog, kept, presence, router, endpoint, providers, holders, probe, deployments, listings.
package vendors
