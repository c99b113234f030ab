// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"noderotation.io/noderotation/cmd/noderotation/inspect"
	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/sim/simulate"
)

// chosen says which NodePools a command is about.
type chosen struct {
	clusterFlags

	all      bool
	selector string
}

func (f *chosen) bind(set *pflag.FlagSet) {
	f.clusterFlags.bind(set)
	set.BoolVar(&f.all, "all", false, "every NodePool")
	set.StringVarP(&f.selector, "selector", "l", "", "the NodePools that this label selector selects, such as workload=api")
}

// check sees that the command line says in one way which NodePools are meant.
func (f *chosen) check(args []string) error {
	switch ways := len(args) > 0; {
	case f.all && f.selector != "", ways && (f.all || f.selector != ""):
		return errors.New("NodePools are named, or selected by --selector, or --all of them are meant: say one of the three")
	case !ways && !f.all && f.selector == "":
		return errors.New("no NodePool is named: name one or more, select some with --selector, or say --all")
	default:
		return nil
	}
}

// pools are the names of those that are meant.
func (f *chosen) pools(ctx context.Context, i *inspect.Inspector, args []string) ([]string, error) {
	if len(args) > 0 {
		return args, nil
	}
	return i.Selected(ctx, f.selector)
}

// freezeFlags are the flags of `noderotation freeze`.
type freezeFlags struct {
	chosen

	until, span, timezone string
	reason                string
	force                 bool
}

func newFreezeCommand() *cobra.Command {
	flags := &freezeFlags{}
	cmd := &cobra.Command{
		Use:   "freeze NODEPOOL... (--until TIME | --for DURATION)",
		Short: "Let no rotation start in a NodePool, and hold a pending one, until a time",
		Long: "Let no rotation start in a NodePool, and hold one that is pending, until a time. A drain that has begun is not held. It\n" +
			"puts the annotations " + rotation.KeyFreeze + " and " + rotation.KeyFreezeReason + " on the NodePool, and needs get and patch\n" +
			"on nodepools. A time without a zone is one in the zone of the policy's windows; where the zones of several NodePools\n" +
			"disagree on it, say which with --timezone. A freeze that lasts longer is not shortened without --force: of a NodePool\n" +
			"that is named that is an error, with --all or --selector it is left as it is. A NodePool that cannot be frozen keeps\n" +
			"none of the others from it; the exit status is then 1.",
		Example: "  noderotation freeze api --for 12h --reason \"release of the shop\"\n" +
			"  noderotation freeze api batch --until \"2026-01-10 02:00\"\n" +
			"  noderotation freeze --selector workload=api --until 2026-01-10T02:00:00+09:00\n" +
			"  noderotation freeze --all --for 2d",
		RunE:              func(cmd *cobra.Command, args []string) error { return flags.freeze(cmd, args) },
		ValidArgsFunction: flags.complete(true, 0),
	}
	flags.bind(cmd.Flags())
	set := cmd.Flags()
	set.StringVar(&flags.until, "until", "", "when it ends: 2026-01-10T02:00:00+09:00, or \"2026-01-10 02:00\"")
	set.StringVar(&flags.span, "for", "", "how long it lasts, such as 12h or 2d")
	set.StringVar(&flags.timezone, "timezone", "", "zone of --until, such as Asia/Tokyo; default: that of the policy's windows")
	set.StringVar(&flags.reason, "reason", "", "why; told to those who ask")
	set.BoolVar(&flags.force, "force", false, "let it end earlier than the freeze that is in force")
	flags.completeFlags(cmd)
	return cmd
}

func (f *freezeFlags) check(args []string) error {
	if err := f.chosen.check(args); err != nil {
		return err
	}
	if (f.until == "") == (f.span == "") {
		return errors.New("say until when: --until with a time, or --for with a duration, and not both")
	}
	f.reason = strings.Join(strings.Fields(f.reason), " ")
	if n := utf8.RuneCountInString(f.reason); n > rotation.MostFreezeReason {
		return fmt.Errorf("--reason has %d characters; %d are kept: shorten it", n, rotation.MostFreezeReason)
	}
	return nil
}

func (f *freezeFlags) freeze(cmd *cobra.Command, args []string) error {
	if err := f.check(args); err != nil {
		return err
	}
	return f.hold(cmd, args, func(ctx context.Context, freezer *inspect.Freezer, pools []string) (*inspect.Held, error) {
		until, err := f.end(ctx, freezer, pools)
		if err != nil {
			return nil, err
		}
		return freezer.Freeze(ctx, pools, inspect.Hold{Until: until, Reason: f.reason, Force: f.force, KeepLonger: len(args) == 0})
	})
}

// end is when the freeze ends, in the zone in which it is thought of.
func (f *freezeFlags) end(ctx context.Context, freezer *inspect.Freezer, pools []string) (time.Time, error) {
	zones, err := f.zones(ctx, freezer, pools)
	if err != nil {
		return time.Time{}, err
	}
	if f.span != "" {
		span, err := simulate.ParseSpan(f.span)
		if err != nil {
			return time.Time{}, fmt.Errorf("--for: %w", err)
		}
		zone := time.UTC
		if len(zones) > 0 {
			zone = zones[0].Location
		}
		return freezer.Now.Add(time.Duration(span)).In(zone), nil
	}
	return inspect.ParseUntilAmong(f.until, zones)
}

// zones are those of the pools' windows, or the one that is said instead.
func (f *freezeFlags) zones(ctx context.Context, freezer *inspect.Freezer, pools []string) ([]inspect.Zone, error) {
	if f.timezone == "" {
		return freezer.Zones(ctx, pools)
	}
	zone, err := time.LoadLocation(f.timezone)
	if err != nil || f.timezone == "Local" {
		return nil, fmt.Errorf("--timezone is %q, which is no time zone; write one such as Asia/Tokyo or UTC", f.timezone)
	}
	return []inspect.Zone{{Location: zone}}, nil
}

func newUnfreezeCommand() *cobra.Command {
	flags := &chosen{}
	cmd := &cobra.Command{
		Use:   "unfreeze NODEPOOL...",
		Short: "End the freeze of a NodePool",
		Long: "End the freeze of a NodePool: its annotations are removed. It needs get and patch on nodepools. A NodePool that cannot be\n" +
			"unfrozen keeps none of the others from it; the exit status is then 1.",
		Example: "  noderotation unfreeze api\n  noderotation unfreeze --selector workload=api\n  noderotation unfreeze --all",
		RunE: func(cmd *cobra.Command, args []string) error {
			return flags.hold(cmd, args, func(ctx context.Context, freezer *inspect.Freezer, pools []string) (*inspect.Held, error) {
				return freezer.Unfreeze(ctx, pools)
			})
		},
		ValidArgsFunction: flags.complete(true, 0),
	}
	flags.bind(cmd.Flags())
	flags.completeFlags(cmd)
	return cmd
}

// hold changes the freeze of the NodePools that are meant, and tells what was done, also where some of it ended in an error.
func (f *chosen) hold(
	cmd *cobra.Command, args []string, change func(context.Context, *inspect.Freezer, []string) (*inspect.Held, error),
) error {
	if err := f.check(args); err != nil {
		return err
	}
	format, err := inspect.ParseFormat(f.output)
	if err != nil {
		return err
	}
	inspector, c, err := f.inspector()
	if err != nil {
		return err
	}
	pools, err := f.pools(cmd.Context(), inspector, args)
	if err != nil {
		return err
	}
	held, err := change(cmd.Context(), &inspect.Freezer{Inspector: inspector, Client: c}, pools)
	if held == nil {
		return inspect.Explain("get", err)
	}
	return errors.Join(inspect.Write(cmd.OutOrStdout(), held, format), err)
}
