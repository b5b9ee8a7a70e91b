// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @title A token without EIP-3009: its holders approve a spender, by a transaction or by a permit of EIP-2612
/// @notice DEVELOPMENT ONLY: for tests of payments by Permit2. Anyone may mint, and choose the trait. The first five are sound:
/// Permits takes permits, Plain has ERC-20 alone, Silent returns nothing (as USDT does), AlwaysAllows allows Permit2
/// everything without an approval, and OtherPermit has a domain and no permit of EIP-2612 (as DAI).
contract PlainToken {
    enum Trait {
        Permits,
        Plain,
        Silent,
        AlwaysAllows,
        OtherPermit,
        TakesFee,
        ChargesPayer,
        MovesNothing,
        MovesFreely,
        MovesBeyond,
        AnyPermit,
        NobodysPermit,
        AnyAuthorization,
        NoTransferEvent,
        Shrinks,
        Paused,
        Dear
    }

    address private constant PERMIT2 = 0x000000000022D473030F116dDEE9F6B43aC78BA3;
    bytes32 private constant DOMAIN_TYPEHASH =
        keccak256('EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)');
    bytes32 private constant PERMIT_TYPEHASH =
        keccak256('Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)');

    string public constant name = 'Plain';
    string public constant symbol = 'PLN';
    uint8 public constant decimals = 18;

    Trait public trait;
    uint256 private _since;
    mapping(address holder => uint256) private _balances;
    mapping(address holder => mapping(address spender => uint256)) private _allowances;
    mapping(address holder => uint256) private _nonces;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);

    constructor(Trait trait_) {
        trait = trait_;
        _since = block.timestamp;
    }

    function become(Trait trait_) external {
        trait = trait_;
    }

    function mint(address to, uint256 value) external {
        _balances[to] += value;
    }

    function balanceOf(address holder) public view returns (uint256) {
        bool hasShrunk = trait == Trait.Shrinks && block.timestamp > _since + 20 minutes;
        return hasShrunk ? _balances[holder] / 2 : _balances[holder];
    }

    function allowance(address holder, address spender) public view returns (uint256) {
        if (trait == Trait.AlwaysAllows && spender == PERMIT2) return type(uint256).max;
        return _allowances[holder][spender];
    }

    function approve(address spender, uint256 value) external returns (bool) {
        require(trait != Trait.AlwaysAllows || spender != PERMIT2, 'always allowed');
        _approve(msg.sender, spender, value);
        return _answer();
    }

    function transferFrom(address from, address to, uint256 value) external returns (bool) {
        require(trait != Trait.Paused, 'closed for today');
        if (trait == Trait.Dear) for (uint256 i = 0; i < 60; i++) _nonces[address(uint160(i))] = i;
        uint256 allowed = allowance(from, msg.sender);
        bool isLoose = trait == Trait.MovesFreely || (trait == Trait.MovesBeyond && msg.sender == PERMIT2);
        if (!isLoose) require(allowed >= value, 'not allowed');
        if (allowed != type(uint256).max) _allowances[from][msg.sender] = allowed < value ? 0 : allowed - value;
        uint256 lost = value;
        uint256 got = value;
        if (trait == Trait.TakesFee) got = value - value / 10_000;
        if (trait == Trait.ChargesPayer) lost = value + 1;
        if (trait == Trait.MovesNothing) (lost, got) = (0, 0);
        _balances[from] -= lost;
        _balances[to] += got;
        if (trait != Trait.NoTransferEvent) emit Transfer(from, to, value);
        return _answer();
    }

    function nonces(address holder) external view returns (uint256) {
        _requirePermits();
        return _nonces[holder];
    }

    function DOMAIN_SEPARATOR() public view returns (bytes32) {
        _requirePermits();
        return
            keccak256(
                abi.encode(DOMAIN_TYPEHASH, keccak256(bytes(name)), keccak256('1'), block.chainid, address(this))
            );
    }

    function permit(
        address owner,
        address spender,
        uint256 value,
        uint256 deadline,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external {
        require(block.timestamp <= deadline && trait != Trait.OtherPermit);
        bytes32 message = keccak256(abi.encode(PERMIT_TYPEHASH, owner, spender, value, _nonces[owner]++, deadline));
        address signer = ecrecover(keccak256(abi.encodePacked(hex'1901', DOMAIN_SEPARATOR(), message)), v, r, s);
        bool isTaken = signer == owner || (signer == address(0) && trait == Trait.NobodysPermit);
        require(isTaken || trait == Trait.AnyPermit, 'not signed');
        _approve(owner, spender, value);
    }

    function transferWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256,
        uint256,
        bytes32,
        uint8,
        bytes32,
        bytes32
    ) external {
        require(trait == Trait.AnyAuthorization);
        _balances[from] -= value;
        _balances[to] += value;
    }

    function _approve(address holder, address spender, uint256 value) private {
        _allowances[holder][spender] = value;
        emit Approval(holder, spender, value);
    }

    function _requirePermits() private view {
        bool hasPermits = trait == Trait.Permits || trait == Trait.AnyPermit || trait == Trait.NobodysPermit;
        require(hasPermits || trait == Trait.OtherPermit);
    }

    function _answer() private view returns (bool) {
        if (trait == Trait.Silent)
            assembly {
                return(0, 0)
            }
        return true;
    }
}
