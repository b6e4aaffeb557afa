package ownership

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/cfg"
)

// passedOn reports uses of a Conn on the ways that lead on from where it was passed on: by a send
// on a channel of Conns, to a goroutine, or by Lose.
func passedOn(pass *analysis.Pass, body *ast.BlockStmt) {
	t := &tracks{pass: pass, told: map[token.Pos]bool{}}
	var graph *cfg.CFG
	ast.Inspect(body, func(n ast.Node) bool {
		if _, ok := n.(*ast.FuncLit); ok {
			return false // it has a turn of its own
		}
		if conn := passes(pass.TypesInfo, n); conn != nil {
			if graph == nil {
				graph = cfg.New(body, mayReturn)
				t.received = receivers(body)
			}
			t.from(graph, n, conn)
		}
		return true
	})
}

// mayReturn says whether a call may come back.
func mayReturn(call *ast.CallExpr) bool {
	id, ok := call.Fun.(*ast.Ident)
	return !ok || id.Name != "panic"
}

// passes is the Conn that a statement passes on, nil when it passes none.
func passes(info *types.Info, n ast.Node) types.Object {
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
		if method, ok := call.Fun.(*ast.SelectorExpr); ok && method.Sel.Name == "Lose" {
			return conn(method.X)
		}
	}
	return nil
}

// receivers gives the clause of a select that each of its sends and receives belongs to.
func receivers(body *ast.BlockStmt) map[ast.Node]*ast.CommClause {
	of := map[ast.Node]*ast.CommClause{}
	ast.Inspect(body, func(n ast.Node) bool {
		if c, ok := n.(*ast.CommClause); ok && c.Comm != nil {
			of[c.Comm] = c
		}
		return true
	})
	return of
}

// tracks follow a Conn that was passed on.
type tracks struct {
	pass     *analysis.Pass
	received map[ast.Node]*ast.CommClause
	told     map[token.Pos]bool
}

// from follows it from the statement that has passed it on.
func (t *tracks) from(graph *cfg.CFG, passed ast.Node, conn types.Object) {
	w := &walk{tracks: t, conn: conn, line: t.pass.Fset.Position(passed.Pos()).Line, seen: map[*cfg.Block]bool{}}
	clause := t.received[passed]
	for _, b := range graph.Blocks {
		if clause != nil { // a send of a select is over where its clause begins
			if b.Kind == cfg.KindSelectCaseBody && b.Stmt == ast.Stmt(clause) {
				w.block(b, 0)
			}
			continue
		}
		for i, n := range b.Nodes {
			if n == passed {
				w.block(b, i+1)
			}
		}
	}
}

// walk is one of them on its ways.
type walk struct {
	*tracks
	conn types.Object
	line int // where it was passed on
	seen map[*cfg.Block]bool
}

// block goes through a block from a node on, and through those behind it, until the variable has
// another Conn or a use is found.
func (w *walk) block(b *cfg.Block, from int) {
	for _, n := range b.Nodes[from:] {
		if w.used(n) || w.set(n) {
			return
		}
	}
	for _, next := range b.Succs {
		if !w.seen[next] && next.Live && !w.setBy(next) {
			w.seen[next] = true
			w.block(next, 0)
		}
	}
}

// used reports a use of the variable in a node. That something is assigned to it is none.
func (w *walk) used(n ast.Node) bool {
	is := func(o types.Object) bool { return o == w.conn }
	at := token.NoPos
	if assign, ok := n.(*ast.AssignStmt); ok {
		for _, e := range assign.Rhs {
			if at == token.NoPos {
				at = mentions(w.pass.TypesInfo, e, is)
			}
		}
		for _, e := range assign.Lhs {
			if _, plain := e.(*ast.Ident); !plain && at == token.NoPos {
				at = mentions(w.pass.TypesInfo, e, is)
			}
		}
	} else {
		at = mentions(w.pass.TypesInfo, n, is)
	}
	if at == token.NoPos {
		return false
	}
	if !w.told[at] {
		w.told[at] = true
		w.pass.Reportf(at, "%s is used here, but was passed on in line %d: it belongs to whoever has it now", w.conn.Name(), w.line)
	}
	return true
}

// set says whether a node gives the variable another Conn.
func (w *walk) set(n ast.Node) bool {
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

// setBy says whether the variable has another Conn where a block begins: in each round of a range
// over a channel.
func (w *walk) setBy(b *cfg.Block) bool {
	r, ok := b.Stmt.(*ast.RangeStmt)
	return ok && b.Kind == cfg.KindRangeLoop && w.among(r.Key, r.Value)
}

func (w *walk) among(places ...ast.Expr) bool {
	for _, e := range places {
		if id, ok := e.(*ast.Ident); ok && w.pass.TypesInfo.ObjectOf(id) == w.conn {
			return true
		}
	}
	return false
}
