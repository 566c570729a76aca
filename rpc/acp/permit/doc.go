// Package permit has the form of requests for permission: what an editor is asked, and what its answer means.
//
// ACP asks about tool calls only. So a question about money has the form of a call as well.
//
// Inside the package, files depend in one direction: spending, permit.
package permit
