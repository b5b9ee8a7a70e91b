package main

import (
	"cosmossdk.io/depinject"
	"cosmossdk.io/log"
	_ "cosmossdk.io/x/feegrant/module"
	dbm "github.com/cosmos/cosmos-db"
	"github.com/cosmos/cosmos-sdk/baseapp"
	"github.com/cosmos/cosmos-sdk/client"
	"github.com/cosmos/cosmos-sdk/codec"
	"github.com/cosmos/cosmos-sdk/runtime"
	"github.com/cosmos/cosmos-sdk/testutil/configurator"
	_ "github.com/cosmos/cosmos-sdk/x/auth"
	_ "github.com/cosmos/cosmos-sdk/x/auth/tx/config"
	_ "github.com/cosmos/cosmos-sdk/x/auth/vesting"
	_ "github.com/cosmos/cosmos-sdk/x/authz/module"
	_ "github.com/cosmos/cosmos-sdk/x/bank"
	_ "github.com/cosmos/cosmos-sdk/x/consensus"
	_ "github.com/cosmos/cosmos-sdk/x/distribution"
	_ "github.com/cosmos/cosmos-sdk/x/genutil"
	_ "github.com/cosmos/cosmos-sdk/x/mint"
	_ "github.com/cosmos/cosmos-sdk/x/staking"
)

type application struct {
	*runtime.App
	codec    codec.Codec
	txConfig client.TxConfig
}

// newApplication wires the SDK's modules, with the ante handler and the parameters that the SDK gives them.
func newApplication(db dbm.DB, logger log.Logger, chainID, minimumGasPrices string) (application, error) {
	var app application
	var builder *runtime.AppBuilder
	modules := configurator.NewAppConfig(
		configurator.AuthModule(),
		configurator.VestingModule(),
		configurator.BankModule(),
		configurator.StakingModule(),
		configurator.DistributionModule(),
		configurator.MintModule(),
		configurator.AuthzModule(),
		configurator.FeegrantModule(),
		configurator.GenutilModule(),
		configurator.ConsensusModule(),
		configurator.TxModule(),
	)
	err := depinject.Inject(
		depinject.Configs(modules, depinject.Supply(logger)),
		&builder, &app.codec, &app.txConfig,
	)
	if err != nil {
		return app, err
	}
	app.App = builder.Build(
		db,
		nil,
		baseapp.SetChainID(chainID),
		baseapp.SetMinGasPrices(minimumGasPrices),
	)
	return app, app.Load(true)
}
