// Package jettest has what tests of session/jet and rpc/cluster need: store servers in this process or as processes, connections that a test can cut or
// listen to, and a way out of the bubbles of testing/synctest. Only tests import this package.
//
// Files: proxy, servers, processes, outside.
package jettest
