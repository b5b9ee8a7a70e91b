// Command sdk-chain is a chain of one validator that consists of the Cosmos SDK's own modules and CometBFT.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"cosmossdk.io/log"
	cmtcfg "github.com/cometbft/cometbft/config"
	cmtlog "github.com/cometbft/cometbft/libs/log"
	"github.com/cometbft/cometbft/node"
	"github.com/cometbft/cometbft/p2p"
	pvm "github.com/cometbft/cometbft/privval"
	"github.com/cometbft/cometbft/proxy"
	"github.com/cometbft/cometbft/rpc/client/local"
	cmttypes "github.com/cometbft/cometbft/types"
	dbm "github.com/cosmos/cosmos-db"
	"github.com/cosmos/cosmos-sdk/client"
	"github.com/cosmos/cosmos-sdk/server"
	serverconfig "github.com/cosmos/cosmos-sdk/server/config"
)

type options struct {
	home             string
	port             int
	chainID          string
	minimumGasPrices string
	blockSeconds     float64
	services         bool
	accounts         accountFlags
}

func main() {
	var o options
	flag.StringVar(&o.home, "home", "", "holds the chain between starts")
	flag.IntVar(&o.port, "port", 26657, "of CometBFT's RPC server on 127.0.0.1")
	flag.StringVar(&o.chainID, "chain-id", "tollgate-devnet-1", "")
	flag.StringVar(&o.minimumGasPrices, "minimum-gas-prices", "0.025uatom", "")
	flag.Float64Var(&o.blockSeconds, "block-seconds", 1, "between a block and the next, and before the first after a start")
	flag.BoolVar(&o.services, "services", true, "serve Simulate, GetTx and Config, as a node does whose gRPC or REST server is on")
	flag.Var(&o.accounts, "account", "address=coins, of the genesis; may be repeated")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(o options) error {
	config, err := cometConfig(o)
	if err != nil {
		return err
	}
	db, err := dbm.NewDB("application", dbm.GoLevelDBBackend, filepath.Join(o.home, "data"))
	if err != nil {
		return err
	}
	app, err := newApplication(db, log.NewNopLogger(), o.chainID, o.minimumGasPrices)
	if err != nil {
		return err
	}
	validator := pvm.LoadOrGenFilePV(config.PrivValidatorKeyFile(), config.PrivValidatorStateFile())
	nodeKey, err := p2p.LoadOrGenNodeKey(config.NodeKeyFile())
	if err != nil {
		return err
	}
	comet, err := node.NewNode(
		config,
		validator,
		nodeKey,
		proxy.NewLocalClientCreator(server.NewCometABCIWrapper(app)),
		func() (*cmttypes.GenesisDoc, error) { return storedGenesis(config.GenesisFile(), app, validator, o) },
		cmtcfg.DefaultDBProvider,
		node.DefaultMetricsProvider(config.Instrumentation),
		cmtlog.NewNopLogger(),
	)
	if err != nil {
		return err
	}
	if err := comet.Start(); err != nil {
		return err
	}
	if o.services {
		registerServices(app, comet, o.minimumGasPrices)
	}
	fmt.Println("ready")

	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	<-stop
	err = comet.Stop()
	comet.Wait()
	return errors.Join(err, app.Close())
}

func cometConfig(o options) (*cmtcfg.Config, error) {
	config := cmtcfg.DefaultConfig().SetRoot(o.home)
	config.RPC.ListenAddress = fmt.Sprintf("tcp://127.0.0.1:%d", o.port)
	config.P2P.ListenAddress = "tcp://127.0.0.1:0"
	config.P2P.PexReactor = false
	config.Consensus.TimeoutCommit = time.Duration(o.blockSeconds * float64(time.Second))
	for _, folder := range []string{"config", "data"} {
		if err := os.MkdirAll(filepath.Join(o.home, folder), 0o700); err != nil {
			return nil, err
		}
	}
	return config, config.ValidateBasic()
}

// storedGenesis makes the genesis at the first start only.
func storedGenesis(file string, app application, validator *pvm.FilePV, o options) (*cmttypes.GenesisDoc, error) {
	document, err := cmttypes.GenesisDocFromFile(file)
	if err == nil {
		return document, nil
	}
	if _, missing := os.Stat(file); !errors.Is(missing, fs.ErrNotExist) {
		return nil, err
	}
	document, err = genesis(app, o.chainID, validator.Key.PubKey, o.accounts)
	if err != nil {
		return nil, err
	}
	return document, document.SaveAs(file)
}

// registerServices does what the SDK's start command does once its gRPC or its REST server is on.
func registerServices(app application, comet *node.Node, minimumGasPrices string) {
	context := client.Context{}.
		WithClient(local.New(comet)).
		WithCodec(app.codec).
		WithInterfaceRegistry(app.codec.InterfaceRegistry()).
		WithTxConfig(app.txConfig)
	config := serverconfig.DefaultConfig()
	config.MinGasPrices = minimumGasPrices
	app.RegisterTxService(context)
	app.RegisterTendermintService(context)
	app.RegisterNodeService(context, *config)
}
