// The token of the local chain. It behaves like USDT on the TRON main net and uses the same energy, to the unit.
// Compiled by compile.mjs in this folder, which writes src/local-usdt.ts.
//
// solc 0.4 as for the main net's own contract: a failed assertion consumes all energy, addresses in call data are cut
// to 20 bytes, and missing call data counts as zero.
pragma solidity 0.4.26;

/** What a token must answer to take over from this one. */
interface Successor {
  function balanceOf(address holder) external view returns (uint256);
  function allowance(address holder, address spender) external view returns (uint256);
  function totalSupply() external view returns (uint256);
  function transferByLegacy(address from, address to, uint256 value) external returns (bool);
  function transferFromByLegacy(address caller, address from, address to, uint256 value) external returns (bool);
  function approveByLegacy(address from, address spender, uint256 value) external returns (bool);
  function increaseApprovalByLegacy(address from, address spender, uint256 value) external returns (bool);
  function decreaseApprovalByLegacy(address from, address spender, uint256 value) external returns (bool);
}

contract LocalUsdt {
  event Transfer(address indexed from, address indexed to, uint256 value);
  event Approval(address indexed owner, address indexed spender, uint256 value);
  event OwnershipTransferred(address indexed previousOwner, address indexed newOwner);
  event Pause();
  event Unpause();
  event AddedBlackList(address indexed _user);
  event RemovedBlackList(address indexed _user);
  event DestroyedBlackFunds(address indexed _blackListedUser, uint256 _balance);
  event Params(uint256 feeBasisPoints, uint256 maxFee);
  event Issue(uint256 amount);
  event Redeem(uint256 amount);
  event Deprecate(address newAddress);

  string public name = "Tether USD";
  string public symbol = "USDT";
  uint8 public decimals = 6;
  uint256 public constant MAX_UINT = 2 ** 256 - 1;

  uint256 public _totalSupply;
  address public owner;
  bool public paused;
  bool public deprecated;
  address public upgradedAddress;
  uint256 public basisPointsRate;
  uint256 public maximumFee;
  mapping(address => bool) public isBlackListed;
  mapping(address => uint256) private balances;
  mapping(address => mapping(address => uint256)) private allowed;

  modifier onlyOwner() {
    require(msg.sender == owner);
    _;
  }

  modifier whenNotPaused() {
    require(!paused);
    _;
  }

  /** The owner is the deployer; `holder` gets the whole supply. */
  constructor(uint256 supply, address holder) public {
    owner = msg.sender;
    _totalSupply = supply;
    balances[holder] = supply;
  }

  // Transfers

  /** Succeeds and yet answers false, as on the main net: it has no return statement. */
  function transfer(address to, uint256 value) public whenNotPaused returns (bool) {
    require(!isBlackListed[msg.sender]);
    if (deprecated) return Successor(upgradedAddress).transferByLegacy(msg.sender, to, value);
    padTransfer();
    uint256 fee = calcFee(value);
    move(msg.sender, to, minus(value, fee));
    if (fee == 0) return padWithoutFee();
    padFee();
    move(msg.sender, owner, fee);
  }

  function transferFrom(address from, address to, uint256 value) public whenNotPaused returns (bool) {
    require(!isBlackListed[from]);
    if (deprecated) return Successor(upgradedAddress).transferFromByLegacy(msg.sender, from, to, value);
    padTransferFrom();
    uint256 rest = allowed[from][msg.sender];
    require(value <= rest);
    uint256 fee = calcFee(value);
    move(from, to, minus(value, fee));
    if (rest < MAX_UINT) allowed[from][msg.sender] = rest - value;
    if (fee > 0) move(from, owner, fee);
    return true;
  }

  function move(address from, address to, uint256 value) private {
    require(to != address(0));
    require(value <= balances[from]);
    balances[from] = balances[from] - value;
    balances[to] = plus(balances[to], value);
    emit Transfer(from, to, value);
  }

  function calcFee(uint256 value) public view returns (uint256) {
    uint256 product = value * basisPointsRate;
    assert(value == 0 || product / value == basisPointsRate);
    uint256 fee = product / 10000;
    return fee > maximumFee ? maximumFee : fee;
  }

  // Allowances

  /** Replaces an allowance of any amount: the main net's token on TRON, unlike Ethereum's, asks for no reset to zero. */
  function approve(address spender, uint256 value) public whenNotPaused returns (bool) {
    if (deprecated) return Successor(upgradedAddress).approveByLegacy(msg.sender, spender, value);
    padApprove();
    allow(msg.sender, spender, value);
    return true;
  }

  function increaseApproval(address spender, uint256 value) public whenNotPaused returns (bool) {
    if (deprecated) return Successor(upgradedAddress).increaseApprovalByLegacy(msg.sender, spender, value);
    allow(msg.sender, spender, plus(allowed[msg.sender][spender], value));
    return true;
  }

  function decreaseApproval(address spender, uint256 value) public whenNotPaused returns (bool) {
    if (deprecated) return Successor(upgradedAddress).decreaseApprovalByLegacy(msg.sender, spender, value);
    uint256 before = allowed[msg.sender][spender];
    allow(msg.sender, spender, value > before ? 0 : before - value);
    return true;
  }

  function allow(address from, address spender, uint256 value) private {
    allowed[from][spender] = value;
    emit Approval(from, spender, value);
  }

  // Reads

  function balanceOf(address holder) public view returns (uint256) {
    return deprecated ? Successor(upgradedAddress).balanceOf(holder) : balances[holder];
  }

  /** The balance when the token was deprecated; 0 before. */
  function oldBalanceOf(address holder) public view returns (uint256) {
    return deprecated ? balances[holder] : 0;
  }

  function allowance(address holder, address spender) public view returns (uint256) {
    return deprecated ? Successor(upgradedAddress).allowance(holder, spender) : allowed[holder][spender];
  }

  function totalSupply() public view returns (uint256) {
    return deprecated ? Successor(upgradedAddress).totalSupply() : _totalSupply;
  }

  function getBlackListStatus(address holder) external view returns (bool) {
    return isBlackListed[holder];
  }

  // The owner's acts

  function transferOwnership(address newOwner) public onlyOwner {
    require(newOwner != address(0));
    emit OwnershipTransferred(owner, newOwner);
    owner = newOwner;
  }

  function pause() public onlyOwner whenNotPaused {
    paused = true;
    emit Pause();
  }

  function unpause() public onlyOwner {
    require(paused);
    paused = false;
    emit Unpause();
  }

  function addBlackList(address holder) public onlyOwner {
    isBlackListed[holder] = true;
    emit AddedBlackList(holder);
  }

  function removeBlackList(address holder) public onlyOwner {
    isBlackListed[holder] = false;
    emit RemovedBlackList(holder);
  }

  /** Writes no Transfer event. */
  function destroyBlackFunds(address holder) public onlyOwner {
    require(isBlackListed[holder]);
    uint256 funds = balanceOf(holder);
    balances[holder] = 0;
    _totalSupply = minus(_totalSupply, funds);
    emit DestroyedBlackFunds(holder, funds);
  }

  /** Fees of less than 20 basis points and less than 50 whole tokens; anything above is refused. */
  function setParams(uint256 newBasisPoints, uint256 newMaxFee) public onlyOwner {
    require(newBasisPoints < 20);
    require(newMaxFee < 50);
    basisPointsRate = newBasisPoints;
    maximumFee = newMaxFee * uint256(10) ** decimals;
    emit Params(basisPointsRate, maximumFee);
  }

  function issue(uint256 amount) public onlyOwner {
    balances[owner] = plus(balances[owner], amount);
    _totalSupply = plus(_totalSupply, amount);
    emit Issue(amount);
    emit Transfer(address(0), owner, amount);
  }

  function redeem(uint256 amount) public onlyOwner {
    _totalSupply = minus(_totalSupply, amount);
    balances[owner] = minus(balances[owner], amount);
    emit Redeem(amount);
    emit Transfer(owner, address(0), amount);
  }

  function deprecate(address successor) public onlyOwner {
    require(successor != address(0));
    deprecated = true;
    upgradedAddress = successor;
    emit Deprecate(successor);
  }

  // Arithmetic that fails as the main net's does: an assertion, which consumes all energy

  function plus(uint256 a, uint256 b) private pure returns (uint256 sum) {
    sum = a + b;
    assert(sum >= a);
  }

  function minus(uint256 a, uint256 b) private pure returns (uint256) {
    assert(b <= a);
    return a - b;
  }

  // Operations without effect that bring each path to the energy it uses on the main net, with and without the dynamic
  // factor. The factor's extra is rounded down for each operation, so both figures depend on which operations there are.

  function padTransfer() private view {
    assembly {
      mstore(0, add(address, address)) mstore(0, add(address, address)) mstore(0, add(address, address))
      mstore(0, add(address, address)) mstore(0, add(address, address)) mstore(0, add(address, address))
      mstore(0, exp(0, 0xffffffffffff)) mstore(0, mload(0))
    }
  }

  function padTransferFrom() private view {
    assembly {
      mstore(0, add(address, address))
      mstore(0, exp(0, 0xffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff))
      mstore(0, exp(0, 0xffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff))
      mstore(0, exp(0, 0xffffffffffffff))
    }
  }

  function padWithoutFee() private view returns (bool) {
    assembly {
      mstore(0, add(address, address)) mstore(0, add(address, address)) mstore(0, add(address, address))
      mstore(0, add(address, address)) mstore(0, add(address, address)) mstore(0, add(address, address))
      mstore(0, add(address, address)) mstore(0, add(address, address)) mstore(0, exp(0, 0)) mstore(0, 0)
    }
  }

  function padFee() private view {
    assembly {
      mstore(0, address) mstore(0, address) mstore(0, add(address, address))
      mstore(0, exp(0, 0xffffffffffffffffffffffffffffffffffffffffffff))
    }
  }

  function padApprove() private view {
    assembly {
      mstore(0, address) mstore(0, add(address, address)) mstore(0, mul(0, 0))
    }
  }
}
