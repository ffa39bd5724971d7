package lsptest

// Stock is the answer that an editor gives to a method's requests when the
// test scripts none, for a script that does something beside it.
func (e *Editor) Stock(method string) Answer { return e.stock(method) }
