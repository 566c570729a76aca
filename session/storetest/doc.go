// Package storetest tests a [session.Store]: each store calls [Run] or [RunLocal] in its own tests, so that all keep the same
// contract. The tests run for the operator and for another owner, and some are about several owners.
//
// The other functions make the sessions and entries of these tests, and are for the tests of a store's own promises as well.
// Each entry of a sample has a time of its kind, and texts are what the caller gives. Only tests import this package.
//
// Inside the package, files depend in one direction: sample, the tests by subject, suite.
package storetest
