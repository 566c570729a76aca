// Package cluster tests daemons that share one set of sessions: processes, over store servers in the process of the test. The times of a cluster
// are seconds, so all tests are long forms.
package cluster
