// Package refusal reads what a vendor says when it refuses a request.
//
// [Read] is a pure function of the status, the header and the body. It returns the kind of the error, the part of the
// request that it is about, how long to wait, and the member of the body that it names. Vendors send the same refusal with
// different statuses and bodies, and gateways wrap the texts of one vendor into the form of another. So there is one list
// of forms and texts for all of them. Each text stands next to the vendor that it was seen at.
//
// Inside the package, files depend in one direction: read, blame, classify, then body, filters, param, overflow, subject and wait, at last clean.
package refusal
