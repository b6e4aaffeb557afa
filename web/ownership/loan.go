package ownership

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/analysis"
)

// loan is a Conn that is lent to a function, for as long as a call of it lasts.
type loan struct {
	pass *analysis.Pass
	f    ast.Node
	conn *types.Var
	// local variables that hold the Conn: itself, and what it was put into
	with map[types.Object]bool
}

func newLoan(pass *analysis.Pass, f ast.Node, conn *types.Var) *loan {
	return &loan{pass, f, conn, map[types.Object]bool{conn: true}}
}

// check reports the Conn where it is given to somebody who may have it after the call.
func (l *loan) check(body *ast.BlockStmt) {
	for n := 0; n != len(l.with); {
		n = len(l.with)
		ast.Inspect(body, l.follow)
	}
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			return l.allow(l.given(n.Call), n, "is taken by a goroutine, and is this component's only until it returns: take out of it what the goroutine needs before")
		case *ast.SendStmt:
			return l.allow(l.holds(n.Value), n, "is sent on a channel, but is only lent to this component: who receives it would share it with the next component")
		case *ast.AssignStmt:
			return l.allow(l.stores(n), n, "is stored in what outlives the call, and is this component's only until it returns")
		case *ast.ReturnStmt:
			return l.allow(l.returns(n), n, "is used by what this returns, which runs when another component has the Conn: take out of it what is needed before")
		case *ast.CallExpr:
			if keeper := l.keeper(n); keeper != "" {
				return l.allow(l.anyHolds(n.Args), n, keeper)
			}
		}
		return true
	})
}

// allow reports what is wrong, and says whether to look further inside.
func (l *loan) allow(wrong bool, n ast.Node, why string) bool {
	if wrong {
		l.pass.Reportf(n.Pos(), "%s %s", l.conn.Name(), why)
	}
	return !wrong
}

// follow notes local variables that the Conn is put into.
func (l *loan) follow(n ast.Node) bool {
	assign, ok := n.(*ast.AssignStmt)
	if !ok || len(assign.Lhs) != len(assign.Rhs) {
		return true
	}
	for i, left := range assign.Lhs {
		if v := l.object(left); v != nil && l.local(v) && l.holds(assign.Rhs[i]) {
			l.with[v] = true
		}
	}
	return true
}

// object is the variable that an identifier stands for, nil for other expressions.
func (l *loan) object(e ast.Expr) types.Object {
	id, ok := ast.Unparen(e).(*ast.Ident)
	if !ok {
		return nil
	}
	return l.pass.TypesInfo.ObjectOf(id)
}

// local says whether a variable belongs to the function and is none of its parameters.
func (l *loan) local(v types.Object) bool {
	if sig, ok := l.f.(*ast.FuncDecl); ok && v.Pos() < sig.Body.Pos() {
		return false
	}
	return v.Pos() >= l.f.Pos() && v.Pos() < l.f.End() && v != l.conn
}

// holds says whether the value of an expression has the Conn in it.
func (l *loan) holds(e ast.Expr) bool {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		return l.with[l.object(e)]
	case *ast.UnaryExpr:
		return e.Op == token.AND && l.holds(e.X)
	case *ast.KeyValueExpr:
		return l.holds(e.Value)
	case *ast.CompositeLit:
		return l.anyHolds(e.Elts)
	case *ast.FuncLit:
		return mentions(l.pass.TypesInfo, e.Body, func(o types.Object) bool { return l.with[o] }) != token.NoPos
	case *ast.SelectorExpr: // a method that is not called yet
		selection := l.pass.TypesInfo.Selections[e]
		return selection != nil && selection.Kind() == types.MethodVal && l.holds(e.X)
	case *ast.CallExpr: // of a conversion, or of append
		fun := l.pass.TypesInfo.Types[e.Fun]
		if id, ok := e.Fun.(*ast.Ident); ok && fun.IsBuiltin() && id.Name == "append" || fun.IsType() {
			return l.anyHolds(e.Args)
		}
	}
	return false
}

func (l *loan) anyHolds(list []ast.Expr) bool {
	for _, e := range list {
		if l.holds(e) {
			return true
		}
	}
	return false
}

// given says whether a call, when it is made later, has the Conn.
func (l *loan) given(call *ast.CallExpr) bool { return l.holds(call.Fun) || l.anyHolds(call.Args) }

// stores says whether an assignment puts the Conn into something that is not the function's own.
func (l *loan) stores(n *ast.AssignStmt) bool {
	for i, left := range n.Lhs {
		if len(n.Lhs) != len(n.Rhs) || !l.holds(n.Rhs[i]) {
			continue
		}
		if id, ok := left.(*ast.Ident); ok && id.Name == "_" {
			continue
		}
		if v := l.object(root(left)); v == nil || v != l.conn && !l.local(v) {
			return true
		}
	}
	return false
}

// root is the variable that a place belongs to, as far as the source says so.
func root(e ast.Expr) ast.Expr {
	for {
		switch p := ast.Unparen(e).(type) {
		case *ast.SelectorExpr:
			e = p.X
		case *ast.IndexExpr:
			e = p.X
		case *ast.StarExpr:
			e = p.X
		default:
			return e
		}
	}
}

// returns says whether the function returns a function, such as a transform, that has the Conn.
// That it returns the Conn itself is no harm.
func (l *loan) returns(n *ast.ReturnStmt) bool {
	for _, e := range n.Results {
		t := l.pass.TypesInfo.TypeOf(e)
		if t == nil {
			continue
		}
		if _, is := t.Underlying().(*types.Signature); is && l.holds(e) {
			return true
		}
	}
	return false
}

// keeper says why a call must not be given the Conn, "" when it may be.
func (l *loan) keeper(call *ast.CallExpr) string {
	fun := ast.Unparen(call.Fun)
	if index, ok := fun.(*ast.IndexExpr); ok {
		fun = index.X
	}
	var name *ast.Ident
	switch fun := fun.(type) {
	case *ast.SelectorExpr:
		name = fun.Sel
	case *ast.Ident:
		name = fun
	default:
		return ""
	}
	f, ok := l.pass.TypesInfo.Uses[name].(*types.Func)
	if !ok {
		return ""
	}
	return keepers[f.FullName()]
}

const (
	later  = "is used by a function that runs when another component has the Conn: take out of it what is needed before"
	given  = "is used by a function that runs when the set-up is over: use the Conn that the function is given"
	inside = "is taken by a goroutine, and is not for two at a time: take out of it what the goroutine needs before"
	kept   = "is left for other components, and is only lent to this one"
)

// keepers are functions that keep what they are given.
var keepers = map[string]string{
	webPath + ".Stream":                 later,
	webPath + ".Piped":                  later,
	"(" + webPath + ".Body).Closing":    later,
	"(*" + webPath + ".Conn).Transform": later,
	"(*" + webPath + ".Conn).Hijack":    later,
	"(*" + webPath + ".Conn).Before":    given,
	"(*" + webPath + ".Conn).After":     given,
	"(*" + webPath + ".Conn).SetValue":  kept,
	"time.AfterFunc":                    later,
	"context.AfterFunc":                 later,
	"(*sync.WaitGroup).Go":              inside,
}
