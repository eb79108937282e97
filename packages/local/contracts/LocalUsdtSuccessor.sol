// The token that LocalUsdt forwards to once it is deprecated. Whoever held the old token holds as much of this one.
// Its Transfer logs come from its own address. Unlike the old token it answers true and says why it refuses.
// Compiled by compile.mjs in this folder, which writes src/local-usdt.ts.
pragma solidity 0.4.26;

interface Legacy {
  function oldBalanceOf(address holder) external view returns (uint256);
  function _totalSupply() external view returns (uint256);
  function getBlackListStatus(address holder) external view returns (bool);
}

contract LocalUsdtSuccessor {
  event Transfer(address indexed from, address indexed to, uint256 value);
  event Approval(address indexed owner, address indexed spender, uint256 value);

  string public name = "Tether USD";
  string public symbol = "USDT";
  uint8 public decimals = 6;

  Legacy public legacy;
  mapping(address => bool) private isMoved;
  mapping(address => uint256) private balances;
  mapping(address => mapping(address => uint256)) public allowance;

  modifier onlyLegacy() {
    require(msg.sender == address(legacy), "only the old token may call this");
    _;
  }

  constructor(Legacy old) public {
    legacy = old;
  }

  function balanceOf(address holder) public view returns (uint256) {
    return isMoved[holder] ? balances[holder] : legacy.oldBalanceOf(holder);
  }

  function totalSupply() external view returns (uint256) {
    return legacy._totalSupply();
  }

  function transfer(address to, uint256 value) external returns (bool) {
    return move(msg.sender, to, value);
  }

  function transferFrom(address from, address to, uint256 value) external returns (bool) {
    return moveAllowed(msg.sender, from, to, value);
  }

  function approve(address spender, uint256 value) external returns (bool) {
    return allow(msg.sender, spender, value);
  }

  function transferByLegacy(address from, address to, uint256 value) external onlyLegacy returns (bool) {
    return move(from, to, value);
  }

  function transferFromByLegacy(address caller, address from, address to, uint256 value)
    external
    onlyLegacy
    returns (bool)
  {
    return moveAllowed(caller, from, to, value);
  }

  function approveByLegacy(address from, address spender, uint256 value) external onlyLegacy returns (bool) {
    return allow(from, spender, value);
  }

  function increaseApprovalByLegacy(address from, address spender, uint256 value) external onlyLegacy returns (bool) {
    uint256 raised = allowance[from][spender] + value;
    require(raised >= value, "the allowance is too large");
    return allow(from, spender, raised);
  }

  function decreaseApprovalByLegacy(address from, address spender, uint256 value) external onlyLegacy returns (bool) {
    uint256 before = allowance[from][spender];
    return allow(from, spender, value > before ? 0 : before - value);
  }

  function moveAllowed(address caller, address from, address to, uint256 value) private returns (bool) {
    uint256 rest = allowance[from][caller];
    require(value <= rest, "the allowance is too small");
    allowance[from][caller] = rest - value;
    return move(from, to, value);
  }

  function move(address from, address to, uint256 value) private returns (bool) {
    require(to != address(0), "the receiver is the zero address");
    require(!legacy.getBlackListStatus(from), "the sender is blacklisted");
    uint256 before = balanceOf(from);
    require(value <= before, "the balance is too small");
    keep(from, before - value);
    keep(to, balanceOf(to) + value);
    emit Transfer(from, to, value);
    return true;
  }

  function keep(address holder, uint256 balance) private {
    isMoved[holder] = true;
    balances[holder] = balance;
  }

  function allow(address from, address spender, uint256 value) private returns (bool) {
    allowance[from][spender] = value;
    emit Approval(from, spender, value);
    return true;
  }
}
