// Package clouds has strict stand-ins for the hosts that issue the credentials of clouds: [Amazon] for STS, single sign-on, containers and
// instances, [Google] for service accounts, persons, federated workloads, impersonation and machines, and [Entra] for applications,
// workloads and machines at Microsoft. It is for tests.
//
// Each of them refuses a request that does not prove who makes it, and issues other credentials each time. [Once] is a host of models
// that takes each of them for one request, as if it had expired right after: a tool loop then needs another for each of its calls.
//
// The rules are those of the clouds' documentation.
//
// Inside the package, files depend in one direction: amazon, google and entra, key; once.
package clouds
