package session

func childMain() bool { return false }
