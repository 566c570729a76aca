package door

// ClusterStatus is a cluster as one of its nodes sees it.
type ClusterStatus struct {
	Node       ClusterNode     `json:"node"`       // that answers
	Contact    bool            `json:"contact"`    // it is in contact with a majority of the store servers
	Durability string          `json:"durability"` // verified or unverified: whether all servers say that they sync each message
	Servers    []ClusterServer `json:"servers"`
	Peers      []ClusterNode   `json:"peers"` // that are present
	Open       int             `json:"open"`  // sessions with a turn that runs or waits, at any node
}

// ClusterNode is a node as its heartbeats say.
type ClusterNode struct {
	Name     string `json:"name"`
	Number   string `json:"number"` // of this run of the node
	Link     string `json:"link,omitempty"`
	Draining bool   `json:"draining,omitempty"`
	Turns    int    `json:"turns"` // that run
}

// ClusterServer is a store server.
type ClusterServer struct {
	URL       string `json:"url"`
	Connected bool   `json:"connected"`
	Syncs     string `json:"syncs"` // always, or late, or empty: it does not say
}

// Draining is a node that has begun to drain. It ends after that.
type Draining struct {
	Turns int `json:"turns"` // that run
}
