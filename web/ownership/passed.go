package ownership

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/cfg"
)

// checkPassedOn reports uses of a Conn on the control flow paths after it was passed on: by a send
// on a channel of Conns, to a goroutine, or by Drop.
func checkPassedOn(pass *analysis.Pass, body *ast.BlockStmt) {
	t := &passedOnCheck{pass: pass, reported: map[token.Pos]bool{}}
	var graph *cfg.CFG
	ast.Inspect(body, func(n ast.Node) bool {
		if _, ok := n.(*ast.FuncLit); ok {
			return false // it is checked on its own
		}
		if conn := passedConn(pass.TypesInfo, n); conn != nil {
			if graph == nil {
				graph = cfg.New(body, mayReturn)
				t.selectClauses = clausesOf(body)
			}
			t.follow(graph, n, conn)
		}
		return true
	})
}

// mayReturn reports whether a call may return.
func mayReturn(call *ast.CallExpr) bool {
	id, ok := call.Fun.(*ast.Ident)
	return !ok || id.Name != "panic"
}

// passedConn returns the Conn that a statement passes on, or nil.
func passedConn(info *types.Info, n ast.Node) types.Object {
	conn := func(e ast.Expr) types.Object {
		if id, ok := ast.Unparen(e).(*ast.Ident); ok && isConn(info.TypeOf(id)) {
			return info.Uses[id]
		}
		return nil
	}
	switch n := n.(type) {
	case *ast.SendStmt:
		return conn(n.Value)
	case *ast.GoStmt:
		for _, arg := range n.Call.Args {
			if v := conn(arg); v != nil {
				return v
			}
		}
	case *ast.ExprStmt:
		call, ok := n.X.(*ast.CallExpr)
		if !ok {
			return nil
		}
		if method, ok := call.Fun.(*ast.SelectorExpr); ok && method.Sel.Name == "Drop" {
			return conn(method.X)
		}
	}
	return nil
}

// receivers gives the clause of a select that each of its sends and receives belongs to.
func clausesOf(body *ast.BlockStmt) map[ast.Node]*ast.CommClause {
	of := map[ast.Node]*ast.CommClause{}
	ast.Inspect(body, func(n ast.Node) bool {
		if c, ok := n.(*ast.CommClause); ok && c.Comm != nil {
			of[c.Comm] = c
		}
		return true
	})
	return of
}

// passedOnCheck finds uses of Conns after they were passed on in one function.
type passedOnCheck struct {
	pass          *analysis.Pass
	selectClauses map[ast.Node]*ast.CommClause
	reported      map[token.Pos]bool
}

// follow walks the control flow from the statement that passes the Conn on.
func (t *passedOnCheck) follow(graph *cfg.CFG, passed ast.Node, conn types.Object) {
	w := &pathWalk{passedOnCheck: t, conn: conn, line: t.pass.Fset.Position(passed.Pos()).Line, seen: map[*cfg.Block]bool{}}
	clause := t.selectClauses[passed]
	for _, b := range graph.Blocks {
		if clause != nil { // the send of a select happens before its clause's body
			if b.Kind == cfg.KindSelectCaseBody && b.Stmt == ast.Stmt(clause) {
				w.walkBlock(b, 0)
			}
			continue
		}
		for i, n := range b.Nodes {
			if n == passed {
				w.walkBlock(b, i+1)
			}
		}
	}
}

// pathWalk walks the control flow for one passed-on Conn.
type pathWalk struct {
	*passedOnCheck
	conn types.Object
	line int // where the Conn was passed on
	seen map[*cfg.Block]bool
}

// walkBlock walks a block from a node on, and its successors, until the variable gets another Conn
// or a use is found.
func (w *pathWalk) walkBlock(b *cfg.Block, from int) {
	for _, n := range b.Nodes[from:] {
		if w.reportUse(n) || w.reassigns(n) {
			return
		}
	}
	for _, next := range b.Succs {
		if !w.seen[next] && next.Live && !w.reassignsAtStart(next) {
			w.seen[next] = true
			w.walkBlock(next, 0)
		}
	}
}

// reportUse reports whether a node uses the variable, and reports the use as a finding. An
// assignment to the variable is not a use.
func (w *pathWalk) reportUse(n ast.Node) bool {
	is := func(o types.Object) bool { return o == w.conn }
	at := token.NoPos
	if assign, ok := n.(*ast.AssignStmt); ok {
		for _, e := range assign.Rhs {
			if at == token.NoPos {
				at = findUse(w.pass.TypesInfo, e, is)
			}
		}
		for _, e := range assign.Lhs {
			if _, plain := e.(*ast.Ident); !plain && at == token.NoPos {
				at = findUse(w.pass.TypesInfo, e, is)
			}
		}
	} else {
		at = findUse(w.pass.TypesInfo, n, is)
	}
	if at == token.NoPos {
		return false
	}
	if !w.reported[at] {
		w.reported[at] = true
		w.pass.Reportf(at, "%s is used here, but was passed on in line %d: it belongs to its receiver now", w.conn.Name(), w.line)
	}
	return true
}

// reassigns reports whether a node assigns another Conn to the variable.
func (w *pathWalk) reassigns(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.AssignStmt:
		return w.among(n.Lhs...)
	case *ast.ValueSpec:
		for _, id := range n.Names {
			if w.among(id) {
				return true
			}
		}
	}
	return false
}

// reassignsAtStart reports whether the variable gets another Conn at the start of a block: in each
// iteration of a range over a channel.
func (w *pathWalk) reassignsAtStart(b *cfg.Block) bool {
	r, ok := b.Stmt.(*ast.RangeStmt)
	return ok && b.Kind == cfg.KindRangeLoop && w.among(r.Key, r.Value)
}

func (w *pathWalk) among(places ...ast.Expr) bool {
	for _, e := range places {
		if id, ok := e.(*ast.Ident); ok && w.pass.TypesInfo.ObjectOf(id) == w.conn {
			return true
		}
	}
	return false
}
