// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @title A token with EIP-3009 that is sound but for one fault
/// @notice DEVELOPMENT ONLY: for tests of those who must not take payments in such tokens. Anyone may mint, and choose the
/// fault; the one called None has none.
contract FaultyToken {
    enum Fault {
        None,
        TakesFee,
        ChargesPayer,
        MovesNothing,
        CountsTwice,
        Replayable,
        AnySignature,
        LooseAmount,
        Late,
        Early,
        DeniesUse,
        ClaimsUse,
        NoStandard,
        NoTransferEvent,
        WrongTransferEvent,
        NoUsedEvent,
        NoDomain,
        Reverts,
        Endless,
        Talkative,
        HiddenBalance,
        PackedBalance,
        LastNonceOnly,
        ForgetsInTime,
        NoSigner,
        Limited,
        TakesFeeOpenly,
        FailsWhenMined
    }

    bytes32 private constant DOMAIN_TYPEHASH =
        keccak256('EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)');
    bytes32 private constant TRANSFER_TYPEHASH =
        keccak256(
            'TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)'
        );
    uint256 private constant MASK = uint256(keccak256('hidden'));

    string public constant name = 'Faulty';
    string public constant symbol = 'FLT';
    string public constant version = '1';

    Fault public fault;
    uint8 private _decimals;
    mapping(address holder => uint256) private _balances;
    mapping(address authorizer => mapping(bytes32 nonce => uint256 time)) private _usedAt;
    mapping(address authorizer => bytes32 nonce) private _last;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce);

    constructor(Fault fault_, uint8 decimals_) {
        become(fault_, decimals_);
    }

    function become(Fault fault_, uint8 decimals_) public {
        fault = fault_;
        _decimals = decimals_;
    }

    function mint(address to, uint256 value) external {
        _setBalance(to, balanceOf(to) + value);
    }

    function decimals() external view returns (uint8) {
        return _decimals;
    }

    function balanceOf(address holder) public view returns (uint256) {
        uint256 word = _balances[holder];
        if (fault == Fault.PackedBalance) return word >> 8;
        if (fault == Fault.HiddenBalance) return word == 0 ? 0 : word ^ MASK;
        return word;
    }

    function DOMAIN_SEPARATOR() public view returns (bytes32) {
        bytes32 nameHash = keccak256(bytes(fault == Fault.NoDomain ? 'Another' : name));
        return keccak256(abi.encode(DOMAIN_TYPEHASH, nameHash, keccak256(bytes(version)), block.chainid, address(this)));
    }

    function authorizationState(address authorizer, bytes32 nonce) external view returns (bool) {
        require(fault != Fault.NoStandard);
        if (fault == Fault.ClaimsUse) return true;
        return fault != Fault.DeniesUse && _isUsed(authorizer, nonce);
    }

    function transferWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external {
        require(fault != Fault.Reverts, 'closed for today');
        while (fault == Fault.Endless) {}
        // A question to a node names no price, a transaction in a block always does.
        require(tx.gasprice == 0 || fault != Fault.FailsWhenMined, 'closed for today');
        require(block.timestamp > validAfter || fault == Fault.Early, 'too early');
        require(block.timestamp < validBefore || fault == Fault.Late, 'too late');
        require(!_isUsed(from, nonce) || fault == Fault.Replayable, 'used');
        require(value <= 1e6 || fault != Fault.Limited, 'too much at once');
        address signer = ecrecover(_digest(from, to, value, validAfter, validBefore, nonce), v, r, s);
        bool signed = signer == from || fault == Fault.AnySignature || (signer == address(0) && fault == Fault.NoSigner);
        if (!signed && fault == Fault.LooseAmount)
            signed = ecrecover(_digest(from, to, value - 1, validAfter, validBefore, nonce), v, r, s) == from;
        require(signed, 'not signed');
        _usedAt[from][nonce] = block.timestamp;
        if (fault == Fault.LastNonceOnly) _last[from] = nonce;
        if (fault != Fault.NoUsedEvent) emit AuthorizationUsed(from, nonce);
        _move(from, to, value);
        if (fault == Fault.Talkative)
            assembly {
                return(0, 0x40000)
            }
    }

    function _isUsed(address authorizer, bytes32 nonce) private view returns (bool) {
        uint256 time = _usedAt[authorizer][nonce];
        if (fault == Fault.LastNonceOnly) return _last[authorizer] == nonce;
        if (fault == Fault.ForgetsInTime) return time != 0 && block.timestamp < time + 1 minutes;
        return time != 0;
    }

    function _move(address from, address to, uint256 value) private {
        uint256 lost = value;
        uint256 got = value;
        if (fault == Fault.TakesFee) got = value - value / 10_000;
        if (fault == Fault.ChargesPayer) lost = value + 1;
        if (fault == Fault.MovesNothing) (lost, got) = (0, 0);
        if (fault == Fault.CountsTwice) got = 2 * value;
        if (fault == Fault.TakesFeeOpenly) got = value - value / 100;
        _setBalance(from, balanceOf(from) - lost);
        _setBalance(to, balanceOf(to) + got);
        if (fault == Fault.NoTransferEvent) return;
        if (fault == Fault.TakesFeeOpenly) emit Transfer(from, to, got);
        else emit Transfer(from, to, fault == Fault.WrongTransferEvent ? value + 1 : value);
    }

    function _setBalance(address holder, uint256 value) private {
        if (fault == Fault.PackedBalance) _balances[holder] = value << 8;
        else _balances[holder] = fault == Fault.HiddenBalance ? value ^ MASK : value;
    }

    function _digest(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce
    ) private view returns (bytes32) {
        bytes32 message = keccak256(abi.encode(TRANSFER_TYPEHASH, from, to, value, validAfter, validBefore, nonce));
        return keccak256(abi.encodePacked(hex'1901', DOMAIN_SEPARATOR(), message));
    }
}

/// @title A contract that does what another one's code says, as upgradeable tokens do
/// @notice DEVELOPMENT ONLY. Keeps the other one's address where EIP-1967 says.
contract TokenProxy {
    bytes32 private constant SLOT = bytes32(uint256(keccak256('eip1967.proxy.implementation')) - 1);

    constructor(address implementation, bytes memory call) {
        bytes32 slot = SLOT;
        assembly {
            sstore(slot, implementation)
        }
        (bool done, ) = implementation.delegatecall(call);
        require(done);
    }

    fallback() external {
        bytes32 slot = SLOT;
        assembly {
            calldatacopy(0, 0, calldatasize())
            let done := delegatecall(gas(), sload(slot), 0, calldatasize(), 0, 0)
            returndatacopy(0, 0, returndatasize())
            switch done
            case 0 {
                revert(0, returndatasize())
            }
            default {
                return(0, returndatasize())
            }
        }
    }
}
